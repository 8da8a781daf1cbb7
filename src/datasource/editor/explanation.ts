import { type DataFrame, LoadingState, type PanelData } from '@grafana/data';

import { continuationOf } from '../live/continuation';

/** What an answer tells of how it was made. */
export interface Explanation {
  frames: number;
  rows: number;
  /** Clusters that series are of, where they carry one. */
  clusters: string[];
  /** What servers were asked, in their order: each once. */
  asked: string[];
  /** What the backend says beside: what was asked of agents, why recording rules were not taken. */
  remarks: string[];
  /** How much of the range came from the cache; undefined where no range was asked for. */
  cached?: string;
  /** How the answer goes on. */
  live: string;
  notices: string[];
  error?: string;
}

/** Reads an answer's meta; undefined while there is none for the query. */
export function explanationOf(data: PanelData | undefined, refId: string): Explanation | undefined {
  const frames = data?.series.filter((frame) => frame.refId === undefined || frame.refId === refId) ?? [];
  const error = data?.errors?.find((each) => each.refId === undefined || each.refId === refId)?.message;
  const settled = data?.state === LoadingState.Done || data?.state === LoadingState.Streaming;
  if (!data || (frames.length === 0 && !error && !settled)) {
    return undefined;
  }
  const lines = unique(frames.flatMap(({ meta }) => meta?.executedQueryString?.split('\n') ?? []));
  return {
    frames: frames.length,
    rows: frames.reduce((sum, { length }) => sum + length, 0),
    clusters: unique(frames.flatMap(clustersOf)).sort(),
    asked: lines.filter((line) => !line.startsWith('#')),
    remarks: lines.filter((line) => line.startsWith('#')).map((line) => line.replace(/^#\s*/, '')),
    cached: cachedText(frames),
    live: liveText(frames),
    notices: unique(frames.flatMap(({ meta }) => meta?.notices?.map(({ text }) => text) ?? [])),
    error,
  };
}

function clustersOf({ fields }: DataFrame): string[] {
  const column = fields.find(({ name }) => name === 'cluster')?.values ?? [];
  return [...fields.map(({ labels }) => labels?.cluster), ...column].filter((name) => typeof name === 'string');
}

/** What the backend wrote into a frame about its cache: steps that it had, of those that all servers' answers have. */
function cachedText(frames: DataFrame[]): string | undefined {
  const told = frames.map(({ meta }): Partial<Cached> | undefined => meta?.custom?.explain?.cached).find(Boolean);
  if (typeof told?.steps !== 'number' || typeof told.of !== 'number' || told.of <= 0) {
    return undefined;
  }
  const { steps, of } = told;
  if (steps <= 0) {
    return 'Nothing: the servers were asked for the whole range';
  }
  // "100 %" is to mean all of it.
  const share = Math.min(steps < of ? 99 : 100, Math.round((100 * steps) / of));
  return `${share} % of the steps (${steps.toLocaleString('en')} of ${of.toLocaleString('en')})`;
}

interface Cached {
  steps: number;
  of: number;
}

function liveText(frames: DataFrame[]): string {
  const goesOn = frames.map(continuationOf).find((continuation) => continuation !== undefined);
  if (!goesOn) {
    return 'No stream: a refresh shows what is new';
  }
  switch (goesOn.mode) {
    case 'replace':
      return 'By a stream that replaces the table when it changes';
    case 'append':
      return 'By a stream that appends rows';
    default:
      return `By a stream with a value every ${seconds(goesOn.stepMs)}`;
  }
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}

function unique(texts: string[]): string[] {
  return [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))];
}
