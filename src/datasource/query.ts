import { queryTypeInfo } from './queryTypes';
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
  return query.queryType || (query.expr && !query.metric ? 'promql' : 'metric');
}

/** What of a query changes with its type, so that one of the new type draws at once. */
export function ofType(query: GpuQuery, type: QueryType): Partial<GpuQuery> {
  const change: Partial<GpuQuery> = { queryType: type };
  if (type === 'metric' && !query.metric) {
    change.metric = DEFAULT_METRIC;
  }
  if (type !== queryTypeOf(query) && (query.options || queryTypeInfo(type)?.options)) {
    // Each type has options of its own and refuses those of others.
    change.options = queryTypeInfo(type)?.options;
  }
  if (type === 'processes' && query.source === 'history') {
    change.source = 'auto';
  }
  return change;
}

/** Whether there is something to ask. A type that is not known is the backend's to refuse. */
export function isComplete(query: GpuQuery): boolean {
  const { options } = query;
  switch (queryTypeOf(query)) {
    case 'promql':
      return Boolean(query.expr?.trim());
    case 'metric':
      return Boolean(query.metric?.trim());
    case 'anomaly':
      return Boolean(options?.metric);
    case 'forecast':
      return Boolean(options?.metric) || (Boolean(options?.of) && options?.of !== 'metric');
    default:
      return true;
  }
}

/** One line for the query history and collapsed rows: what, over what, where. */
export function displayText(query: GpuQuery): string {
  const type = queryTypeOf(query);
  if (type === 'promql') {
    return query.expr ?? '';
  }
  const scope = SCOPE_KEYS.filter((key) => query[key]?.length).map((key) => `${key}: ${query[key]?.join(', ')}`);
  if (type !== 'metric') {
    const of = typeof query.options?.metric === 'string' ? [query.options.metric] : [];
    return [type, ...of, ...scope].join(' · ');
  }
  const by = query.aggregateBy && query.aggregateBy !== 'identity' ? ` by ${query.aggregateBy}` : '';
  const aggregation = query.aggregation ? ` (${query.aggregation}${by})` : by;
  return [`${query.metric ?? ''}${aggregation}`, ...scope].join(' · ');
}
