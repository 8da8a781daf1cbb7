import { type InsightOptions } from '../types';
import { type InsightField } from './insightFields';

/** The most that the backend reads, in bytes. */
const MOST_BYTES = 16 << 10;

/** The options with one set, or left out when it says nothing; undefined when none is left. */
export function withOption(
  options: InsightOptions | undefined,
  key: string,
  value: unknown
): InsightOptions | undefined {
  const { [key]: _, ...others } = options ?? {};
  const says = value !== undefined && value !== '' && value !== false && !(Array.isArray(value) && value.length === 0);
  const next = says ? { ...others, [key]: value } : others;
  return Object.keys(next).length ? next : undefined;
}

/** Whether a field is shown: those of rules in rules, or where they are set already. */
export function isShown({ key, ofRule, when }: InsightField, options: InsightOptions = {}, isRule: boolean): boolean {
  const applies = !when || when.is.includes(options[when.key]);
  return applies && (!ofRule || isRule || options[key] !== undefined);
}

/** The options that have no field, as text; empty when there are none. */
export function restAsText(fields: InsightField[], options: InsightOptions = {}): string {
  const rest = Object.entries(options).filter(([key]) => !fields.some((field) => field.key === key));
  return rest.length ? JSON.stringify(Object.fromEntries(rest), null, 2) : '';
}

/** The options with those that have no field replaced by what a text says. */
export function withRest(
  fields: InsightField[],
  options: InsightOptions = {},
  text: string
): InsightOptions | undefined {
  const kept = Object.entries(options).filter(([key]) => fields.some((field) => field.key === key));
  const next = { ...Object.fromEntries(kept), ...read(text) };
  return Object.keys(next).length ? next : undefined;
}

/** What is wrong with the text of options, if anything. Which keys there are is the backend's to say. */
export function restProblem(text: string): string | undefined {
  if (new TextEncoder().encode(text).length > MOST_BYTES) {
    return `The text is too long: at most ${MOST_BYTES} bytes are read.`;
  }
  try {
    read(text);
    return undefined;
  } catch (error) {
    const why = error instanceof SyntaxError ? ` ${error.message}.` : '';
    return `Write an object in JSON, such as {"limits": {"default": {"idle": 0.03}}}.${why}`;
  }
}

function read(text: string): InsightOptions {
  if (text.trim() === '') {
    return {};
  }
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('not an object');
  }
  return { ...value };
}
