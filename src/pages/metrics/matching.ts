import { type Metric } from '../../datasource/types';

/** The metrics of a family ('' for all) that have every word of a text; one that is named so stands alone. */
export function matching(metrics: Metric[], { text, family }: { text: string; family: string }): Metric[] {
  const named = metrics.filter(({ name }) => name === text.trim());
  if (named.length > 0) {
    return named;
  }
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return metrics.filter((metric) => {
    const { name, help, caveat, nvidiaSmi, unit } = metric;
    const where = [name, help, caveat, nvidiaSmi, unit, metric.family].join('\n').toLowerCase();
    return (family === '' || metric.family === family) && words.every((word) => where.includes(word));
  });
}
