import { type ComboboxOption } from '@grafana/ui';

import { type Metric } from '../types';

const UNIT_LABELS: Record<string, string> = {
  ratio: '0–1',
  bytes: 'bytes',
  bytes_per_second: 'bytes/s',
  seconds: 's',
  watts: 'W',
  joules: 'J',
  hertz: 'Hz',
  celsius: '°C',
  count: 'count',
  code: 'code',
};

/** A counter is shown as its rate; joules per second are watts, seconds per second a share. */
const RATE_LABELS: Record<string, string> = {
  bytes: 'bytes/s',
  joules: 'W',
  seconds: '0–1',
  count: 'per second',
};

/** The unit in which a metric's values are shown. */
export function unitLabel({ unit, kind }: Pick<Metric, 'unit' | 'kind'>): string {
  const label = UNIT_LABELS[unit] ?? unit;
  return kind === 'counter' ? (RATE_LABELS[unit] ?? `${label} per second`) : label;
}

/** The catalogue for the picker, a group for each family. */
export function metricOptions(metrics: Metric[]): ComboboxOption[] {
  return metrics.map((metric) => ({
    value: metric.name,
    label: metric.name,
    group: familyLabel(metric.family),
    description: `${metric.help} (${unitLabel(metric)})`,
  }));
}

function familyLabel(family: string): string {
  return family.charAt(0).toUpperCase() + family.slice(1);
}
