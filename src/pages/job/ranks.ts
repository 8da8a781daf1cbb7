import { type DataFrame } from '@grafana/data';

import { type GpuQuery } from '../../datasource/types';
import { jobOfWorkload, type JobKey, sameJob } from '../jobs/jobKey';
import { frameNamed, numberOf, type Row, rowsOf, textOf } from '../shared/rows';
import { type JobScope } from './jobScope';

/** What is compared between ranks; a rank that is slow waits less for the others. */
export const RANK_METRICS: Array<{ metric: string; header: string }> = [
  { metric: 'train_step_seconds', header: 'Step' },
  { metric: 'train_forward_seconds', header: 'Forward' },
  { metric: 'train_backward_seconds', header: 'Backward' },
  { metric: 'train_allreduce_seconds', header: 'Collectives' },
  { metric: 'train_data_load_seconds', header: 'Data' },
  { metric: 'train_memory_reserved_bytes', header: 'Memory reserved' },
];

/** A rank with its newest values by metric. */
export interface Rank {
  rank: string;
  node: string;
  pod: string;
  values: Partial<Record<string, number>>;
}

/** Asks for the newest values of each rank. */
export function rankQueries(scope: JobScope): GpuQuery[] {
  return RANK_METRICS.map(({ metric }) => ({
    refId: metric,
    queryType: 'metric',
    ...scope,
    metric,
    aggregateBy: 'identity',
    format: 'table',
    instant: true,
  }));
}

/** The ranks of a job in an answer, rank 2 before rank 10. */
export function ranksOf(frames: DataFrame[], job: JobKey): Rank[] {
  const ranks = new Map<string, Rank>();
  for (const { metric } of RANK_METRICS) {
    for (const row of rowsOf(frameNamed(frames, metric)).filter((one) => isOf(one, job))) {
      const rank = ranks.get(keyOf(row)) ?? {
        rank: textOf(row, 'rank'),
        node: textOf(row, 'node'),
        pod: textOf(row, 'pod'),
        values: {},
      };
      rank.values[metric] = numberOf(row, metric);
      ranks.set(keyOf(row), rank);
    }
  }
  const inOrder = new Intl.Collator(undefined, { numeric: true });
  return [...ranks.values()].sort((a, b) => inOrder.compare(nameOf(a), nameOf(b)));
}

function isOf(row: Row, job: JobKey): boolean {
  const own = jobOfWorkload(row, false);
  // A Slurm job has no namespace, whatever its ranks say.
  return own !== undefined && sameJob({ ...own, namespace: job.namespace && own.namespace }, job);
}

/** A rank as people call it. */
export function nameOf({ rank, pod, node }: Rank): string {
  return rank || pod || node;
}

function keyOf(row: Row): string {
  return JSON.stringify(['rank', 'pod', 'node', 'instance'].map((label) => textOf(row, label)));
}

/** The pods that ranks say they are in. */
export function podsOf(ranks: Rank[]): string[] {
  return [...new Set(ranks.map(({ pod }) => pod).filter(Boolean))];
}

/**
 * How far a value is from the median of the ranks, 0 for at it and 1 for half of the median or more away; undefined where there
 * is nothing to compare.
 */
export function heatOf(value: number | undefined, all: number[]): number | undefined {
  const middle = median(all);
  if (value === undefined || middle === undefined || middle === 0 || all.length < 2) {
    return undefined;
  }
  return Math.min(1, Math.abs(value / middle - 1) / FULL_HEAT);
}

const FULL_HEAT = 0.5;

/** The middle of values; undefined where there are none. */
export function median(values: number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return sorted.length === 0 ? undefined : (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
}
