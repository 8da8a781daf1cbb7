import {
  CoreApp,
  type DataFrame,
  type DataQueryRequest,
  dateTime,
  LoadingState,
  rangeUtil,
  type TimeRange,
  toDataFrame,
} from '@grafana/data';
import { getDataSourceSrv } from '@grafana/runtime';
import { filter, firstValueFrom, from } from 'rxjs';

import { type GpuQuery, type Notice } from '../../datasource/types';
import { messageOf } from '../../shared/messageOf';

/** A time range as addresses write it: `now-1h`, or milliseconds. */
export interface RawRange {
  from: string;
  to: string;
}

/** What queries were answered: their tables, and what is to be known of them. */
export interface Asked {
  frames: DataFrame[];
  notices: Notice[];
}

const MAX_DATA_POINTS = 600;

let asked = 0;

/**
 * Asks a data source of ours once: nothing is streamed. What one of several queries did not get is a notice beside what the
 * others got; only when nothing came at all is it an error.
 */
export async function ask(uid: string, queries: GpuQuery[], raw: RawRange): Promise<Asked> {
  const source = await getDataSourceSrv().get({ uid });
  const response = await firstValueFrom(
    from(source.query(requestOf(queries, raw))).pipe(filter(({ state }) => state !== LoadingState.Loading))
  );
  const frames = response.data.map((frame) => toDataFrame(frame));
  const failures = (response.errors ?? []).map((error) => messageOf(error));
  if (failures.length > 0 && frames.length === 0) {
    throw new Error(failures.join(' '));
  }
  return { frames, notices: [...failures.map((text): Notice => ({ severity: 'error', text })), ...noticesOf(frames)] };
}

/** A time range of now, from what an address says. */
export function rangeOf({ from: since, to }: RawRange): TimeRange {
  return rangeUtil.convertRawToRange({ from: momentOf(since), to: momentOf(to) });
}

function momentOf(text: string) {
  return /^\d+$/.test(text) ? dateTime(Number(text)) : text;
}

function requestOf(queries: GpuQuery[], raw: RawRange): DataQueryRequest<GpuQuery> {
  const range = rangeOf(raw);
  const { interval, intervalMs } = rangeUtil.calculateInterval(range, MAX_DATA_POINTS, '1s');
  asked += 1;
  return {
    app: CoreApp.Unknown,
    requestId: `warpwatch-page-${asked}`,
    timezone: 'browser',
    range,
    rangeRaw: range.raw,
    interval,
    intervalMs,
    maxDataPoints: MAX_DATA_POINTS,
    targets: queries.map((query) => ({ ...query, live: false })),
    scopedVars: {},
    startTime: Date.now(),
  };
}

function noticesOf(frames: DataFrame[]): Notice[] {
  const all = frames.flatMap(({ meta }) => meta?.notices ?? []);
  const texts = new Set<string>();
  return all.filter(({ text }) => !texts.has(text) && texts.add(text));
}
