import { type ComboboxOption } from '@grafana/ui';

import { type Metric } from '../types';
import { type Availability, availabilityText } from './availability';

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

/** The catalogue for the picker, a group for each family; what is measured here comes first in each. */
export function metricOptions(metrics: Metric[], available?: Map<string, Availability>): ComboboxOption[] {
  const families = [...new Set(metrics.map(({ family }) => family))];
  return families
    .flatMap((family) => {
      const ofFamily = metrics.filter((metric) => metric.family === family);
      const isMissing = ({ name }: Metric) => available?.get(name)?.measured === false;
      return [...ofFamily.filter((metric) => !isMissing(metric)), ...ofFamily.filter(isMissing)];
    })
    .map((metric) => ({
      value: metric.name,
      label: metric.name,
      group: familyLabel(metric.family),
      // What a narrow list cuts off is the end.
      description: [unitLabel(metric), availabilityText(available?.get(metric.name)), metric.help]
        .filter((text) => text !== '')
        .join(' · '),
    }));
}

function familyLabel(family: string): string {
  return family.charAt(0).toUpperCase() + family.slice(1);
}
