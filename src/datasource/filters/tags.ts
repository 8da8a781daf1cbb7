import { type AdHocVariableFilter, type MetricFindValue } from '@grafana/data';

import { type ParentKey, type Parents, type VariableKind, type VariableValue } from '../types';
import { type Dimension, dimensionOf, DIMENSIONS } from './dimensions';

/** What ad-hoc filters can be about. */
export function tagKeys(): MetricFindValue[] {
  return DIMENSIONS.map(({ key, label }) => ({ text: label, value: key }));
}

const PARENT_OF: Partial<Record<VariableKind, ParentKey>> = {
  cluster: 'clusters',
  node: 'nodes',
  model: 'models',
  namespace: 'namespaces',
  pod: 'pods',
  job: 'jobs',
};

/** The other filters as parents that narrow a list: those that say what is meant exactly. */
export function parentsOfFilters(filters: AdHocVariableFilter[], key: string): Parents {
  const parents: Parents = {};
  for (const filter of filters) {
    const dimension = filter.key === key ? undefined : dimensionOf(filter.key);
    const parent = dimension && PARENT_OF[dimension.kind];
    if (parent && (filter.operator === '=' || filter.operator === '=|')) {
      parents[parent] = filter.operator === '=|' && filter.values ? filter.values : [filter.value];
    }
  }
  return parents;
}

const INDEX = /· GPU (\d+) ·|\bGPU (\d+)\b/;

/** The values of a dimension among those that its kind lists. */
export function tagValues({ key }: Dimension, listed: VariableValue[]): MetricFindValue[] {
  switch (key) {
    case 'gpu':
      return unique(listed.map(({ text }) => INDEX.exec(text)).map((match) => match?.[1] ?? match?.[2])).sort(byNumber);
    case 'mig_id':
      return unique(listed.map(({ value }) => value.slice(value.lastIndexOf('/') + 1))).sort(byNumber);
    default:
      return listed.map(({ text, value }) => ({ text, value }));
  }
}

function unique(values: Array<string | undefined>): MetricFindValue[] {
  const known = new Set(values.filter((value) => value !== undefined && value !== ''));
  return [...known].map((value) => ({ text: String(value), value }));
}

function byNumber(a: MetricFindValue, b: MetricFindValue): number {
  return Number(a.value) - Number(b.value);
}
