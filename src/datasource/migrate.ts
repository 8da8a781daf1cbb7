import { queryTypeOf, SCHEMA_VERSION, SCOPE_KEYS } from './query';
import { type Format, type GpuQuery } from './types';

/** What Prometheus' own data source stores, as far as it has a counterpart here. */
interface PrometheusFields {
  legendFormat?: unknown;
  interval?: unknown;
  exemplar?: unknown;
  range?: unknown;
  step?: unknown;
}

type Stored = GpuQuery & PrometheusFields;

/**
 * The query in this version's form: with its type and version, lists where a single text was provisioned, and the fields of
 * a Prometheus query under our names. A query that is in form already stays the same object. One of a newer version is left
 * alone, because what it means is not known.
 */
export function migrate(stored: GpuQuery): GpuQuery {
  if (isNewer(stored)) {
    return stored;
  }
  const change = { ...versioned(stored), ...listed(stored), ...fromPrometheus(stored) };
  return Object.keys(change).length === 0 ? stored : withoutPrometheus({ ...stored, ...change });
}

/** Whether a query was written by a version that knows more. */
export function isNewer({ schemaVersion }: GpuQuery): boolean {
  return (schemaVersion ?? 0) > SCHEMA_VERSION;
}

function versioned(query: GpuQuery): Partial<GpuQuery> {
  const type = queryTypeOf(query);
  return query.schemaVersion === SCHEMA_VERSION && query.queryType === type
    ? {}
    : { schemaVersion: SCHEMA_VERSION, queryType: type };
}

function listed(query: GpuQuery): Partial<GpuQuery> {
  const change: Partial<GpuQuery> = {};
  for (const key of SCOPE_KEYS) {
    const value: unknown = query[key];
    if (typeof value === 'string') {
      change[key] = value === '' ? [] : [value];
    }
  }
  return change;
}

const FORMATS: Format[] = ['time_series', 'table', 'matrix'];

function fromPrometheus(query: Stored): Partial<GpuQuery> {
  const change: Partial<GpuQuery> = {};
  if (isText(query.legendFormat) && !query.legend) {
    change.legend = query.legendFormat === '__auto' ? '' : query.legendFormat;
  }
  if (queryTypeOf(query) === 'promql' && isText(query.interval) && !query.minStep) {
    change.minStep = query.interval;
  }
  if (query.exemplar === true && query.exemplars === undefined) {
    change.exemplars = true;
  }
  if (query.format && !FORMATS.includes(query.format)) {
    change.format = 'time_series'; // Prometheus' heat map is one of series here
  }
  return change;
}

function withoutPrometheus(query: Stored): GpuQuery {
  const { legendFormat: _legend, exemplar: _exemplar, ...kept } = query;
  return kept;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
