import { type ScopedVars } from '@grafana/data';
import { type TemplateSrv } from '@grafana/runtime';

import { SCOPE_KEYS } from '../query';
import { type Filter, type GpuQuery, type InsightOptions } from '../types';
import { keepingMacros } from './macros';
import { promqlValue } from './promql';
import { expandScope } from './scope';

/**
 * A panel of MIG instances stays one when their variable is set to All, or has no value because nothing is split: without
 * a restriction it would show whole boards.
 */
const ANY_INSTANCE = ['/.+/'];

/** The query with the dashboard's variables replaced and the backend's macros kept. */
export function applyVariables(query: GpuQuery, templateSrv: TemplateSrv, scopedVars: ScopedVars): GpuQuery {
  const variables = keepingMacros(scopedVars);
  const text = (value: string | undefined) => (value ? templateSrv.replace(value, variables) : value);

  const result: GpuQuery = { ...query };
  for (const key of SCOPE_KEYS) {
    if (query[key]) {
      result[key] = expandScope(query[key], templateSrv, variables);
    }
  }
  if (query.migs?.length && !result.migs?.length) {
    result.migs = ANY_INSTANCE;
  }
  if (query.expr) {
    result.expr = templateSrv.replace(query.expr, variables, promqlValue);
  }
  for (const key of ['metric', 'legend', 'minStep', 'minDuration'] as const) {
    if (query[key]) {
      result[key] = text(query[key]);
    }
  }
  if (query.kinds) {
    result.kinds = expandScope(query.kinds, templateSrv, variables);
  }
  if (query.adhocFilters) {
    result.adhocFilters = query.adhocFilters.map((filter) => filled(filter, templateSrv, variables));
  }
  if (query.options) {
    result.options = replaceTexts(query.options, (value) => templateSrv.replace(value, variables)) as InsightOptions;
  }
  return result;
}

/** A filter with its values replaced. Where several are meant a variable gives each of its values; All restricts nothing. */
function filled(filter: Filter, templateSrv: TemplateSrv, variables: ScopedVars): Filter {
  const several = filter.values && expandScope(filter.values, templateSrv, variables);
  const format = filter.operator.endsWith('~') ? 'regex' : undefined;
  return {
    ...filter,
    ...(filter.value !== undefined && { value: templateSrv.replace(filter.value, variables, format) }),
    ...(several && { values: several }),
  };
}

/** The value with every text in it replaced; keys, numbers and all else stay. */
function replaceTexts(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === 'string') {
    return replace(value);
  }
  if (Array.isArray(value)) {
    return value.map((each) => replaceTexts(each, replace));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaceTexts(each, replace)]));
  }
  return value;
}

/** Every text in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    return [value];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Whether a query depends on a variable of the dashboard. */
export function usesVariables(query: GpuQuery, templateSrv: TemplateSrv): boolean {
  const scope = SCOPE_KEYS.flatMap((key) => query[key] ?? []);
  const others = [...(query.kinds ?? []), ...textsIn(query.options), ...textsIn(query.adhocFilters)];
  return [query.expr, query.metric, query.legend, query.minStep, query.minDuration, ...scope, ...others].some(
    (text) => text !== undefined && templateSrv.containsTemplate(withoutMacros(text))
  );
}

/** containsTemplate takes any `$name` for a variable, the backend's own macros too. */
function withoutMacros(text: string): string {
  return text.replace(/\$__\w+|\$\{__\w+(?::\w+)?\}/g, '');
}
