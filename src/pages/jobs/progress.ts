import { type GpuQuery } from '../../datasource/types';
import { type PageScope } from '../shared/usePageState';

/** What a job or a server tells of itself. */
export interface Measure {
  metric: string;
  /** How it reads, with % for the value. */
  text: string;
  aggregation: 'avg' | 'max' | 'sum' | 'p95';
  /** Ranks are put together here, as not all say which job they are of; servers are told apart by their pods. */
  by: 'identity' | 'pod';
  unit?: string;
  meaning: string;
}

export const TRAINING: Measure[] = [
  {
    metric: 'train_step_total',
    text: '% steps/s',
    aggregation: 'max',
    by: 'identity',
    unit: 'short',
    meaning: 'How many steps the fastest rank makes in a second.',
  },
  {
    metric: 'train_step_seconds',
    text: 'step %',
    aggregation: 'max',
    by: 'identity',
    meaning: 'How long the slowest rank takes for a step.',
  },
  {
    metric: 'train_tokens_per_second',
    text: '% tokens/s',
    aggregation: 'sum',
    by: 'identity',
    meaning: 'Of all ranks.',
  },
  { metric: 'train_loss', text: 'loss %', aggregation: 'avg', by: 'identity', meaning: 'Of the newest step.' },
];

export const SERVING: Measure[] = [
  {
    metric: 'serve_ttft_seconds',
    text: 'first token % (p95)',
    aggregation: 'p95',
    by: 'pod',
    meaning: 'How long requests wait for their first token; of several servers the slowest.',
  },
  {
    metric: 'serve_generation_tokens_total',
    text: '% tokens/s',
    aggregation: 'sum',
    by: 'pod',
    unit: 'short',
    meaning: 'Tokens that all servers generate in a second.',
  },
  {
    metric: 'serve_requests_waiting',
    text: '% waiting',
    aggregation: 'sum',
    by: 'pod',
    meaning: 'Requests that wait at all servers.',
  },
  {
    metric: 'serve_kv_cache_ratio',
    text: 'KV cache %',
    aggregation: 'max',
    by: 'pod',
    meaning: 'Of the fullest server.',
  },
];

export const MEASURES = [...TRAINING, ...SERVING];

/** Asks for the newest value of each measure, a row for each rank or pod. */
export function progressQueries(scope: PageScope & Pick<GpuQuery, 'jobs' | 'pods'>): GpuQuery[] {
  return MEASURES.map(({ metric, aggregation, by }) => ({
    refId: metric,
    queryType: 'metric',
    ...scope,
    metric,
    // One value each, but of servers, where a pod may have several.
    ...(by === 'pod' && { aggregation }),
    aggregateBy: by,
    format: 'table',
    instant: true,
  }));
}
