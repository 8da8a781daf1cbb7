import { type ComboboxOption } from '@grafana/ui';

import { type AggregateBy, type Aggregation, type Format, type QueryType, type Source } from '../types';

export const QUERY_TYPES: Array<ComboboxOption<QueryType>> = [
  { value: 'metric', label: 'Metric', description: 'A GPU metric by its meaning, past and present joined' },
  { value: 'promql', label: 'PromQL', description: 'An expression of your own, with GPU macros' },
];

export const AGGREGATE_BY: Array<ComboboxOption<AggregateBy>> = [
  { value: 'identity', label: 'GPU or MIG instance', description: 'One series for each device' },
  { value: 'node', label: 'Node' },
  { value: 'cluster', label: 'Cluster' },
  { value: 'model', label: 'Model' },
];

export const SOURCES: Array<ComboboxOption<Source>> = [
  { value: 'auto', label: 'Both', description: 'Prometheus up to the join, agents from there' },
  { value: 'history', label: 'History', description: 'Prometheus only' },
  { value: 'live', label: 'Live', description: 'Agents only, as far back as they remember' },
];

export const FORMATS: Array<ComboboxOption<Format>> = [
  { value: 'time_series', label: 'Time series' },
  { value: 'table', label: 'Table' },
];

const AGGREGATION_LABELS: Record<Aggregation, string> = {
  '': 'Default',
  avg: 'Average',
  max: 'Maximum',
  min: 'Minimum',
  sum: 'Sum',
};

/** The aggregations that make sense for a metric; the first is what "default" stands for. */
export function aggregationOptions(accepted: Aggregation[]): Array<ComboboxOption<Aggregation>> {
  const usual = accepted[0] ? `${AGGREGATION_LABELS[accepted[0]]}, as the catalogue says` : undefined;
  return [
    { value: '', label: AGGREGATION_LABELS[''], description: usual },
    ...accepted.map((value) => ({ value, label: AGGREGATION_LABELS[value] })),
  ];
}
