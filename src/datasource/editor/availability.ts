import { type Coverage, type CoverageRow } from '../types';

/** How a metric is measured in the chosen scope. */
export interface Availability {
  measured: boolean;
  /** Devices or workloads that have it, of those that should. */
  covered: number;
  total: number;
  /** What it is read from, such as `dcgm: DCGM_FI_DEV_POWER_USAGE`. */
  from: string[];
  /** What to do to get what is missing. */
  enable: string[];
}

/** The availability of each metric that anything is known of. */
export function availabilityOf({ rows }: Coverage): Map<string, Availability> {
  const byMetric = new Map<string, CoverageRow[]>();
  for (const row of rows) {
    byMetric.set(row.metric, [...(byMetric.get(row.metric) ?? []), row]);
  }
  return new Map([...byMetric].map(([metric, of]) => [metric, summary(of)]));
}

function summary(rows: CoverageRow[]): Availability {
  const there = rows.filter(({ status }) => status !== 'missing');
  const missing = rows.filter(({ status }) => status === 'missing');
  const covered = sum(there.map((row) => row.covered));
  const lacking = sum(missing.map((row) => row.total));
  return {
    measured: there.length > 0,
    covered,
    total: Math.max(covered + lacking, ...there.map((row) => row.total)),
    from: unique(there.map(({ dialect, series }) => [dialect, series].filter(Boolean).join(': '))),
    enable: unique(rows.map(({ enable }) => enable)),
  };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function unique(texts: string[]): string[] {
  return [...new Set(texts.filter((text) => text !== ''))];
}

/** Availability in a few words, for lists. */
export function availabilityText(available: Availability | undefined): string {
  if (!available) {
    return '';
  }
  if (!available.measured) {
    return 'not measured here';
  }
  return available.covered < available.total ? `here: ${available.covered} of ${available.total}` : 'here';
}
