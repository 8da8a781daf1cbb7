import { type DataFrame, type DataQueryRequest, FieldType, rangeUtil } from '@grafana/data';

import { type LiveContinuation, type LiveMode } from '../types';

/** What the backend wrote into a frame that its stream continues; undefined for a static frame. */
export function continuationOf(frame: DataFrame): LiveContinuation | undefined {
  const live: unknown = frame.meta?.custom?.live;
  if (!isContinuation(live)) {
    return undefined;
  }
  return live.mode !== undefined || frame.fields.some(({ type }) => type === FieldType.time) ? live : undefined;
}

const MODES: Array<LiveMode | undefined> = [undefined, 'replace', 'append', 'cells'];

function isContinuation(value: unknown): value is LiveContinuation {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const { path, stepMs, rangeMs, mode } = value as Partial<LiveContinuation>;
  return typeof path === 'string' && path !== '' && isPositive(stepMs) && isPositive(rangeMs) && MODES.includes(mode);
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0;
}

/** Apps that evaluate rules: they want one answer, and would wait for the end of a stream. */
const RULE_APPS = ['unified-alerting', 'cloud-alerting'];

/**
 * Whether a request may stream at all. The backend decides per frame; this only spares the subscription where nobody
 * would see it: rule evaluation, and a range whose end is a fixed moment.
 */
export function mayStream(request: DataQueryRequest): boolean {
  if (RULE_APPS.includes(request.app)) {
    return false;
  }
  const to = (request.rangeRaw ?? request.range?.raw)?.to;
  return to === undefined || (typeof to === 'string' && to.startsWith('now'));
}

/** The same request up to this moment, as its relative range says. */
export function requestNow<T extends DataQueryRequest>(request: T): T {
  const raw = request.range?.raw ?? request.rangeRaw;
  return raw ? { ...request, range: rangeUtil.convertRawToRange(raw, request.timezone) } : request;
}
