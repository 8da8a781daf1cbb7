import { type GpuQuery, type QueryType, type Scope } from './types';

/** The version of the query JSON that this editor writes. */
export const SCHEMA_VERSION = 1;

/** Shown when a panel is new: what nvidia-smi would show, though each GPU on its own. */
export const DEFAULT_METRIC = 'gpu_utilization_ratio';

/** The scope's keys, in the order of the hierarchy. */
export const SCOPE_KEYS = [
  'clusters',
  'nodes',
  'gpus',
  'migs',
  'models',
  'namespaces',
  'pods',
  'jobs',
] as const satisfies ReadonlyArray<keyof Scope>;

/** What a new panel asks. */
export function defaultQuery(): Partial<GpuQuery> {
  return {
    schemaVersion: SCHEMA_VERSION,
    queryType: 'metric',
    metric: DEFAULT_METRIC,
    aggregateBy: 'identity',
    source: 'auto',
    live: true,
    format: 'time_series',
  };
}

/** The type of a query, also of one written by hand without it. */
export function queryTypeOf(query: GpuQuery): QueryType {
  return query.queryType ?? (query.expr && !query.metric ? 'promql' : 'metric');
}

/** Whether there is something to ask. Only two types need more than a scope; one that is not known is the backend's to refuse. */
export function isComplete(query: GpuQuery): boolean {
  switch (queryTypeOf(query)) {
    case 'promql':
      return Boolean(query.expr?.trim());
    case 'metric':
      return Boolean(query.metric?.trim());
    default:
      return true;
  }
}

/** One line for the query history and collapsed rows: what, over what, where. */
export function displayText(query: GpuQuery): string {
  if (queryTypeOf(query) === 'promql') {
    return query.expr ?? '';
  }
  const scope = SCOPE_KEYS.filter((key) => query[key]?.length).map((key) => `${key}: ${query[key]?.join(', ')}`);
  if (queryTypeOf(query) !== 'metric') {
    return [queryTypeOf(query), ...scope].join(' · ');
  }
  const by = query.aggregateBy && query.aggregateBy !== 'identity' ? ` by ${query.aggregateBy}` : '';
  const aggregation = query.aggregation ? ` (${query.aggregation}${by})` : by;
  return [`${query.metric ?? ''}${aggregation}`, ...scope].join(' · ');
}
