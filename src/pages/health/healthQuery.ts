import { type GpuQuery } from '../../datasource/types';
import { type Row, textOf } from '../shared/rows';
import { type PageScope } from '../shared/usePageState';

/** Rows that a page asks for: more than a person reads, so that counts are of the whole fleet. */
export const MOST_ROWS = 20_000;

/** Asks what is wrong with GPUs of a scope. */
export function healthQuery(scope: PageScope & Pick<GpuQuery, 'gpus' | 'migs'>): GpuQuery {
  return { refId: 'A', queryType: 'health', ...scope, maxRows: MOST_ROWS };
}

/** The same of one row, to be looked at in Explore. */
export function healthOfRow(row: Row): GpuQuery {
  const lists = { clusters: 'cluster', nodes: 'node', gpus: 'gpu_uuid' };
  const chosen = Object.entries(lists)
    .map(([key, column]) => [key, textOf(row, column)] as const)
    .filter(([, value]) => value !== '')
    .map(([key, value]) => [key, [value]] as const);
  return { refId: 'A', queryType: 'health', ...Object.fromEntries(chosen) };
}
