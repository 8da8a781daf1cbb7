import {
  type DataFrame,
  type DataQueryResponse,
  parseLiveChannelAddress,
  type QueryResultMetaNotice,
} from '@grafana/data';
import { type GrafanaLiveSrv, type LiveDataStreamOptions, StreamingFrameAction } from '@grafana/runtime';
import { catchError, defer, endWith, map, Observable, of, Subject, switchMap, takeUntil, timer } from 'rxjs';

import { messageOf } from '../../shared/messageOf';
import { type LiveContinuation } from '../types';
import { AppendedTable, MAX_BUFFER_ROWS } from './AppendedTable';
import { CellTable } from './CellTable';
import { type Continued } from './Continued';
import { failureOf } from './failureOf';
import { type LiveSide } from './LiveSide';
import { ReplacedTable } from './ReplacedTable';
import { withoutStamp } from './stamp';
import { Timeline } from './Timeline';
import { channelFailed, disconnected, refused, silent, type Trouble, unanswered } from './trouble';

/** Silence that is worth a word, at least; slow streams get five of their own steps. */
const SILENCE_MS = 15_000;
const SILENCE_STEPS = 5;

/** How long Grafana may take to answer a subscription; on a channel that others watch the next packet is the answer. */
const ANSWER_MS = 5_000;
const ANSWER_STEPS = 2;

/** How often an answer is asked for in place of the stream, at most. */
const POLL_MS = 10_000;

/** Rows of Grafana's own buffer beyond what the range needs. */
const SPARE_ROWS = 60;

/** The longest table that is sent again and again. */
const MAX_TABLE_ROWS = 1000;

/** What stands between a panel and its stream. Several may hold at once. */
export interface Troubles {
  connection?: Trouble;
  channel?: Trouble;
  silence?: Trouble;
}

/** A frame that its stream continues, as of now. */
export interface ChannelState {
  frame: DataFrame;
  troubles: Troubles;
  /** The stream carries other series than the answer began with, so the answer must be asked for again. */
  outdated: boolean;
  /** Rows were sent while nobody listened, or samples came too late for them: an answer has what is missing. */
  incomplete: boolean;
}

export interface Channel {
  live: LiveSide;
  /** UID of the data source. */
  uid: string;
  /** The history that the stream continues. */
  seed: DataFrame;
  continuation: LiveContinuation;
  /** What was wrong when the seed was asked for; it stays so until the stream shows otherwise. */
  carried?: Troubles;
}

/** How long to wait before the question is put again while its stream is in trouble. */
export function pollMsOf(continuation: LiveContinuation): number {
  return Math.max(POLL_MS, continuation.stepMs);
}

/**
 * Follows a channel: emits on every packet that brings rows and on every change of what is wrong. It never completes and
 * never fails; a stream that does is in trouble.
 */
export function watchChannel({ live, uid, seed, continuation, carried = {} }: Channel): Observable<ChannelState> {
  return new Observable<ChannelState>((subscriber) => {
    const pollMs = pollMsOf(continuation);
    const silenceMs = Math.max(SILENCE_MS, SILENCE_STEPS * continuation.stepMs);
    const answerMs = Math.max(ANSWER_MS, ANSWER_STEPS * continuation.stepMs);
    const timeline = continued(seed, continuation);
    const answered = new Subject<void>();
    const heard = new Subject<void>();
    let troubles: Troubles = carried;
    let outdated = false;
    let incomplete = false;
    let told: QueryResultMetaNotice[] = [];
    // Grafana hands out its own buffer while one subscribes; only what comes after is from the server.
    let subscribed = false;
    let awaited = false;
    // Where nothing may happen for long, packets without news tell that the stream lives; its first may be Grafana's answer.
    let answers = 0;

    const update = (change: Troubles) => {
      troubles = { ...troubles, ...change };
      subscriber.next({ frame: withNotices(timeline.toFrame(), told), troubles, outdated, incomplete });
    };

    const onPacket = (packet: Packet) => {
      if ('failure' in packet) {
        update({ channel: channelFailed(packet.failure, pollMs) });
        return;
      }
      if (subscribed) {
        answered.next();
        answers++;
        if (awaited) {
          awaited = false;
          update({ channel: undefined });
        }
      }
      const said = () => JSON.stringify([outdated, incomplete, told]);
      const before = said();
      const wait: unknown = packet.frame.meta?.custom?.refused;
      outdated = packet.frame.fields.length > 0 && timeline.differsFrom(packet.frame);
      incomplete ||= cameLate(packet.frame, continuation);
      told = packet.frame.meta?.notices ?? [];
      if (typeof wait === 'string') {
        update({ channel: refused(wait, pollMs) });
      } else if (timeline.overlay(packet.frame) > 0) {
        heard.next();
        update({ channel: undefined, silence: undefined });
      } else if (continuation.mode === 'append' && answers > 1) {
        heard.next();
        if (troubles.silence || said() !== before) {
          update({ silence: undefined });
        }
      } else if (said() !== before) {
        update({});
      }
    };

    subscriber.add(
      heard.pipe(switchMap(() => timer(silenceMs))).subscribe(() => update({ silence: silent(silenceMs, pollMs) }))
    );
    subscriber.add(
      live.lost.subscribe((lost) => {
        if (lost) {
          update({ connection: disconnected(pollMs) });
        } else if (troubles.connection) {
          // Nothing could be heard until now, so the silence counts from here.
          heard.next();
          update({ connection: undefined, silence: undefined });
        }
      })
    );
    if (byRows(continuation)) {
      subscriber.add(
        live.reconnected.subscribe(() => {
          incomplete = true;
          update({});
        })
      );
    }
    subscriber.add(
      timer(answerMs)
        .pipe(takeUntil(answered))
        .subscribe(() => {
          awaited = true;
          update({ channel: unanswered(answerMs, pollMs) });
        })
    );
    heard.next();
    subscriber.add(packets(live.service, uid, continuation).subscribe(onPacket));
    subscribed = true;
  });
}

/** Whether packets bring rows that come but once. */
function byRows({ mode }: LiveContinuation): boolean {
  return mode === undefined || mode === 'append';
}

/** Whether samples came too late for their rows after the answer was made. */
function cameLate(packet: DataFrame, { atMs }: LiveContinuation): boolean {
  const refill: unknown = packet.meta?.custom?.refill;
  return typeof refill === 'number' && atMs !== undefined && refill > atMs;
}

/** How packets go on with the seed. */
function continued(seed: DataFrame, { mode, rangeMs, stepMs }: LiveContinuation): Continued {
  switch (mode) {
    case 'replace':
      return new ReplacedTable(seed);
    case 'append':
      return new AppendedTable(seed, rangeMs);
    case 'cells':
      return new CellTable(seed);
    default:
      return new Timeline(seed, rangeMs, stepMs);
  }
}

/** The frame with what the stream tells of its agents, beside what the answer told. */
function withNotices(frame: DataFrame, told: QueryResultMetaNotice[]): DataFrame {
  const known = frame.meta?.notices ?? [];
  const more = told.filter(({ text }) => !known.some((notice) => notice.text === text));
  return more.length ? { ...frame, meta: { ...frame.meta, notices: [...known, ...more] } } : frame;
}

type Packet = { frame: DataFrame } | { failure: string };

/**
 * What the channel delivers: Grafana's buffer after each packet, or why there is none. The history is not given to that buffer:
 * panels that share it would add theirs between its rows, and its columns differ from those of the packets.
 */
function packets(live: GrafanaLiveSrv, uid: string, continuation: LiveContinuation): Observable<Packet> {
  return defer(() => {
    const address = parseLiveChannelAddress(`ds/${uid}/${continuation.path}`);
    if (!address) {
      return of({ failure: `the channel ${continuation.path} has no valid address` });
    }
    return live
      .getDataStream({
        // Grafana 13 calls `stream` what was `namespace` before.
        addr: { ...address, ...{ stream: uid, namespace: uid }, data: continuation.data },
        buffer: bufferOf(continuation),
      })
      .pipe(map(toPacket), endWith({ failure: 'the stream ended' }));
  }).pipe(catchError((error: unknown) => of({ failure: messageOf(error) })));
}

function bufferOf(continuation: LiveContinuation): LiveDataStreamOptions['buffer'] {
  const { mode, rangeMs, stepMs } = continuation;
  if (byRows(continuation)) {
    // Grafana cuts to the panel's width by default, which would cut what came while a tab slept.
    const most = mode === 'append' ? MAX_BUFFER_ROWS : Infinity;
    const maxLength = Math.min(Math.ceil(rangeMs / stepMs) + SPARE_ROWS, most);
    return { maxLength, maxDelta: rangeMs, action: StreamingFrameAction.Append };
  }
  // A delta would cut a table by its first time column, in which rows are not in order.
  return { maxLength: mode === 'replace' ? MAX_TABLE_ROWS : 1, action: StreamingFrameAction.Replace };
}

function toPacket(response: DataQueryResponse): Packet {
  const failure = failureOf(response);
  if (failure !== undefined) {
    return { failure };
  }
  const frame: DataFrame | undefined = response.data[0];
  return frame ? { frame: withoutStamp(frame) } : { failure: 'Grafana delivered a packet without a frame' };
}
