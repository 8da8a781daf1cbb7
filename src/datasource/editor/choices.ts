import { type ComboboxOption } from '@grafana/ui';

import { QUERY_TYPES as TYPES } from '../queryTypes';
import {
  type AggregateBy,
  type Aggregation,
  type FilterOperator,
  type Format,
  type Metric,
  type QueryType,
  type RankBy,
  type ReduceMode,
  type Source,
} from '../types';

export const QUERY_TYPES: Array<ComboboxOption<QueryType>> = TYPES.map(({ type, group, label, meaning }) => ({
  value: type,
  label,
  group,
  description: meaning,
}));

const OF_DEVICES: Array<ComboboxOption<AggregateBy>> = [
  { value: 'identity', label: 'GPU or MIG instance', description: 'One series for each device' },
  { value: 'node', label: 'Node' },
  { value: 'cluster', label: 'Cluster' },
  { value: 'model', label: 'Model' },
];

const RECORDED = 'Where recording rules keep it, over a range';

const OF_RULES: Array<ComboboxOption<AggregateBy>> = [
  { value: 'namespace', label: 'Namespace', description: RECORDED },
  { value: 'job', label: 'Job', description: RECORDED },
];

const OF_WORKLOADS: Array<ComboboxOption<AggregateBy>> = [
  { value: 'identity', label: 'Server or process', description: 'One series for each' },
  { value: 'node', label: 'Node' },
  { value: 'cluster', label: 'Cluster' },
  { value: 'model', label: 'Model', description: 'The one that is served' },
  { value: 'namespace', label: 'Namespace' },
  { value: 'pod', label: 'Pod' },
  { value: 'job', label: 'Job' },
];

/** What one series can stand for. The choice that is stored is always there. */
export function groupingOptions(
  metric: Pick<Metric, 'subject'> | undefined,
  chosen: AggregateBy
): Array<ComboboxOption<AggregateBy>> {
  const options = metric?.subject === 'workload' ? OF_WORKLOADS : [...OF_DEVICES, ...OF_RULES];
  const stored = OF_WORKLOADS.find(({ value }) => value === chosen);
  return stored && !options.some(({ value }) => value === chosen) ? [...options, stored] : options;
}

export const SOURCES: Array<ComboboxOption<Source>> = [
  { value: 'auto', label: 'Both', description: 'Prometheus up to the join, agents from there' },
  { value: 'history', label: 'History', description: 'Prometheus only' },
  { value: 'live', label: 'Live', description: 'Agents only, as far back as they remember' },
];

export const FORMATS: Array<ComboboxOption<Format>> = [
  { value: 'time_series', label: 'Time series' },
  { value: 'table', label: 'Table', description: 'The newest value of each series' },
];

export const MATRIX: ComboboxOption<Format> = {
  value: 'matrix',
  label: 'Matrix',
  description: 'Every device with its newest value, for panels of a whole fleet',
};

export const REDUCTIONS: Array<ComboboxOption<ReduceMode>> = [
  { value: 'auto', label: 'As many as fit', description: 'Every line up to the limit, bands beyond it' },
  { value: 'bands', label: 'Bands', description: 'Quantiles over the lines at each time' },
  { value: 'topk', label: 'Highest', description: 'The lines with the highest values' },
  { value: 'bottomk', label: 'Lowest', description: 'The lines with the lowest values' },
  { value: 'heatmap', label: 'Heatmap', description: 'How many lines are in each bin of values' },
  { value: 'all', label: 'All', description: 'Every line, however many' },
];

/** PromQL has functions of its own for the others. */
export const PROMQL_REDUCTIONS = REDUCTIONS.filter(({ value }) => value === 'auto' || value === 'all');

export const RANKINGS: Array<ComboboxOption<RankBy>> = [
  { value: 'avg', label: 'Average' },
  { value: 'max', label: 'Maximum' },
  { value: 'min', label: 'Minimum' },
  { value: 'last', label: 'Last value' },
];

export const FILTER_OPERATORS: Array<ComboboxOption<FilterOperator>> = [
  { value: '=', label: '=', description: 'Equals' },
  { value: '!=', label: '!=', description: 'Does not equal' },
  { value: '=~', label: '=~', description: 'Matches a regular expression' },
  { value: '!~', label: '!~', description: 'Does not match a regular expression' },
  { value: '=|', label: '=|', description: 'Is one of' },
  { value: '!=|', label: '!=|', description: 'Is none of' },
];

const AGGREGATION_LABELS: Record<Aggregation, string> = {
  '': 'Default',
  avg: 'Average',
  max: 'Maximum',
  min: 'Minimum',
  sum: 'Sum',
  p50: 'Median',
  p95: '95th percentile',
  p99: '99th percentile',
};

/** The aggregations that make sense for a metric; the first is what "default" stands for. */
export function aggregationOptions(accepted: Aggregation[]): Array<ComboboxOption<Aggregation>> {
  const usual = accepted[0] ? `${AGGREGATION_LABELS[accepted[0]]}, as the catalogue says` : undefined;
  return [
    { value: '', label: AGGREGATION_LABELS[''], description: usual },
    ...accepted.map((value) => ({ value, label: AGGREGATION_LABELS[value] })),
  ];
}

const FROM_RULES: ComboboxOption<Aggregation> = { value: 'p95', label: AGGREGATION_LABELS.p95, description: RECORDED };

/** The aggregations for a grouping: recording rules also keep how the devices of a group are distributed. */
export function aggregationsFor(
  metric: Pick<Metric, 'subject' | 'aggregations'> | undefined,
  by: AggregateBy,
  chosen: Aggregation
): Array<ComboboxOption<Aggregation>> {
  const accepted = metric?.aggregations ?? ['avg', 'max', 'min', 'sum'];
  const options = aggregationOptions(accepted);
  const rules = metric?.subject !== 'workload' && by !== 'identity' && !accepted.includes('p95');
  const all = rules ? [...options, FROM_RULES] : options;
  return all.some(({ value }) => value === chosen)
    ? all
    : [...all, { value: chosen, label: AGGREGATION_LABELS[chosen], description: 'Not accepted for this metric' }];
}

const KINDS: Record<string, string> = {
  xid: 'XID error',
  throttle: 'Throttling',
  ecc_uncorrected: 'Uncorrected memory error',
  ecc_corrected: 'Corrected memory errors',
  ecc_storm: 'Storm of memory errors',
  mig_layout_changed: 'MIG layout changed',
  lost: 'GPU lost',
  returned: 'GPU returned',
  unavailable: 'Node not seen',
  page_retired: 'Page retired',
  page_retirement_failed: 'Page retirement failed',
  poison_contained: 'Poison contained',
  poison_uncontained: 'Poison not contained',
  recovery_action_changed: 'Recovery action',
  clocks_changed: 'Clocks changed',
  power_source_changed: 'Power source changed',
  log_matched: 'Log line matched',
  owner_changed: 'Owner changed',
  alert: 'Alert',
  silence: 'Silence',
};

/** The kinds of events, in the order of the backend's list. */
export const EVENT_KINDS: ComboboxOption[] = Object.entries(KINDS).map(([value, label]) => ({
  value,
  label,
  description: value,
}));
