import { type Rule } from '../rules';

const MS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)/g;
const WHOLE = new RegExp(`^[+-]?(?:${PART.source})+$`);

/** A duration as the backend reads it, in milliseconds: `1h30m`, `1.5s`. Days are no unit. Undefined when it is none. */
export function milliseconds(text: string): number | undefined {
  const trimmed = text.trim();
  if (!WHOLE.test(trimmed)) {
    return undefined;
  }
  const sum = [...trimmed.matchAll(PART)].reduce((total, [, number, unit]) => total + Number(number) * MS[unit], 0);
  return trimmed.startsWith('-') ? -sum : sum;
}

/** What is wrong with a duration, if anything; empty means the default. */
export function durationProblem(text: string, { least, most }: Rule): string | undefined {
  if (text.trim() === '') {
    return undefined;
  }
  const value = milliseconds(text);
  if (value === undefined) {
    return 'Write a number with its unit (ms, s, m or h), such as 15s or 1m.';
  }
  const from = milliseconds(String(least)) ?? 0;
  const to = milliseconds(String(most)) ?? Infinity;
  return value < from || value > to ? `Write a duration from ${least} to ${most}.` : undefined;
}
