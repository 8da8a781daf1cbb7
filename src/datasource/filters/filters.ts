import { type AdHocVariableFilter } from '@grafana/data';

import { queryTypeOf } from '../query';
import { type Filter, type FilterOperator, type GpuQuery } from '../types';
import { dimensionOf } from './dimensions';

export const OPERATORS: FilterOperator[] = ['=', '!=', '=~', '!~', '=|', '!=|'];

/** Whether an operator compares with several values. */
export function takesSeveral(operator: FilterOperator): boolean {
  return operator === '=|' || operator === '!=|';
}

/** The values that a filter compares with. */
export function valuesOf({ operator, value, values }: Filter): string[] {
  if (takesSeveral(operator)) {
    return values ?? (value === undefined ? [] : [value]);
  }
  return [value ?? values?.[0] ?? ''];
}

/** The query with the dashboard's ad-hoc filters behind its own. */
export function withFilters(query: GpuQuery, filters: AdHocVariableFilter[] = []): GpuQuery {
  const finished = filters.filter(({ key }) => key !== '').map(toFilter);
  return finished.length ? { ...query, adhocFilters: [...(query.adhocFilters ?? []), ...finished] } : query;
}

function toFilter({ key, operator, value, values }: AdHocVariableFilter): Filter {
  const known = OPERATORS.find((each) => each === operator) ?? '=';
  return takesSeveral(known) && values?.length ? { key, operator: known, values } : { key, operator: known, value };
}

/** A label's value that Explore offers to filter by. */
export interface Chosen {
  key: string;
  value: string;
}

/** Whether the query keeps only what has the value. */
export function hasFilter(query: GpuQuery, { key, value }: Chosen): boolean {
  return (query.adhocFilters ?? []).some((filter) => isSame(filter, '=', key, value));
}

/** The query with a filter put on, in place of its opposite. A label that the type cannot be filtered by changes nothing. */
export function addFilter(query: GpuQuery, operator: '=' | '!=', { key, value }: Chosen): GpuQuery {
  if (!accepts(query, key) || find(query, operator, key, value) >= 0) {
    return query;
  }
  const opposite = operator === '=' ? '!=' : '=';
  const kept = (query.adhocFilters ?? []).filter((filter) => !isSame(filter, opposite, key, value));
  return { ...query, adhocFilters: [...kept, { key, operator, value }] };
}

/** The query with a filter put on, or taken off when it is there. */
export function toggleFilter(query: GpuQuery, operator: '=' | '!=', chosen: Chosen): GpuQuery {
  const at = find(query, operator, chosen.key, chosen.value);
  if (at < 0) {
    return addFilter(query, operator, chosen);
  }
  return { ...query, adhocFilters: query.adhocFilters?.filter((_, i) => i !== at) };
}

function find(query: GpuQuery, operator: FilterOperator, key: string, value: string): number {
  return (query.adhocFilters ?? []).findIndex((filter) => isSame(filter, operator, key, value));
}

function isSame(filter: Filter, operator: FilterOperator, key: string, value: string): boolean {
  return filter.key === key && filter.operator === operator && filter.value === value;
}

function accepts(query: GpuQuery, key: string): boolean {
  return key !== '' && (queryTypeOf(query) === 'promql' || dimensionOf(key) !== undefined);
}
