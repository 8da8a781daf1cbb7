import { type ScopedVars } from '@grafana/data';
import { type TemplateSrv } from '@grafana/runtime';
import { escapeRegex } from './regex';

/** `$name`, `${name}`, `${name:format}`, `${name.field}` and `[[name]]`, as Grafana writes variables. */
const VARIABLE = /\$(\w+)|\$\{(\w+)(?:\.[^:^}]+)?(?::[^}]+)?\}|\[\[(\w+?)(?::\w+)?\]\]/g;

/** An entry that is itself a regular expression. */
const REGEX_ENTRY = /^\/.*\/$/s;

const ALL_TEXT = 'All';
const ALL_VALUES = ['$__all', '.*', '.+'];

/**
 * The entries of one scope field with variables replaced: a variable with several values gives several entries, and one
 * set to All lifts the restriction. Values of variables are exact, whatever characters they hold.
 */
export function expandScope(
  entries: string[] | undefined,
  templateSrv: TemplateSrv,
  scopedVars: ScopedVars
): string[] | undefined {
  if (!entries?.length) {
    return entries;
  }
  const expanded = new Set<string>();
  for (const entry of entries) {
    if (variablesIn(entry).some((name) => isAll(name, templateSrv, scopedVars))) {
      return [];
    }
    const values = REGEX_ENTRY.test(entry)
      ? [templateSrv.replace(entry, scopedVars, 'regex')]
      : expandEntry(entry, templateSrv, scopedVars);
    if (values.some((value) => ALL_VALUES.includes(value))) {
      return [];
    }
    values.filter((value) => value !== '').forEach((value) => expanded.add(value));
  }
  return [...expanded];
}

/** The names of the variables in a text. */
function variablesIn(text: string): string[] {
  return Array.from(text.matchAll(VARIABLE), (match) => match[1] ?? match[2] ?? match[3]);
}

/**
 * Whether a variable is set to All. Its text says so in every scope, a repeated panel's included, while its value may be
 * the list of all values or a custom one.
 */
function isAll(name: string, templateSrv: TemplateSrv, scopedVars: ScopedVars): boolean {
  return (
    templateSrv.replace(`\${${name}:text}`, scopedVars) === ALL_TEXT &&
    valueOf(name, templateSrv, scopedVars) !== ALL_TEXT
  );
}

function valueOf(name: string, templateSrv: TemplateSrv, scopedVars: ScopedVars): string {
  return templateSrv.replace(`\${${name}:raw}`, scopedVars);
}

/** One entry for each value, or for each combination where an entry holds several variables. */
function expandEntry(entry: string, templateSrv: TemplateSrv, scopedVars: ScopedVars): string[] {
  const lists: string[][] = [];
  const marked = templateSrv.replace(entry, scopedVars, (value: unknown) => {
    lists.push((Array.isArray(value) ? value : [value]).map(String));
    return mark(lists.length - 1);
  });
  let results = [marked];
  lists.forEach((values, i) => {
    results = results.flatMap((result) => values.map((value) => result.replace(mark(i), () => value)));
  });
  return lists.length ? results.map(exact) : results;
}

/** Stands in for the i-th variable while the entry is taken apart; no label value holds this character. */
function mark(i: number): string {
  return `\u0000${i}\u0000`;
}

/** A value that looks like `/re/` is turned into an expression that matches nothing but itself. */
function exact(value: string): string {
  return REGEX_ENTRY.test(value) ? `/${escapeRegex(value)}/` : value;
}
