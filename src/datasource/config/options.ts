import { type DataSourceSettings } from '@grafana/data';

import { type ClusterSettings, type GpuSecrets, type GpuSettings } from '../types';

/** The data source as Grafana's settings page holds it. */
export type Options = DataSourceSettings<GpuSettings, GpuSecrets>;

/** What is set at a place of jsonData, such as `clusters.0.endpoints.1.url`; undefined when nothing is. */
export function valueAt(options: Options, path: string): unknown {
  return path.split('.').reduce<unknown>((node, step) => childOf(node, step), options.jsonData);
}

/**
 * The options with a value at a place of jsonData. Undefined takes the key away, and objects that it leaves empty; entries of
 * lists stay, and so does every key that nobody here knows.
 */
export function withValue(options: Options, path: string, value: unknown): Options {
  return { ...options, jsonData: withChild(options.jsonData, path.split('.'), value) as GpuSettings };
}

/** The clusters, none before anything is set up. */
export function clustersOf(options: Options): ClusterSettings[] {
  return options.jsonData.clusters ?? [];
}

/** The name itself, or with the lowest number that is free. */
export function firstFree(name: string, taken: string[]): string {
  let candidate = name;
  for (let n = 2; taken.includes(candidate); n++) {
    candidate = `${name}-${n}`;
  }
  return candidate;
}

/** Letters, digits, - and _ only: ids are part of secrets' keys. */
export function slug(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return plain.slice(0, 40) || 'cluster';
}

function isObject(node: unknown): node is Record<string, unknown> {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

function childOf(node: unknown, step: string): unknown {
  if (Array.isArray(node)) {
    return node[Number(step)];
  }
  return isObject(node) ? node[step] : undefined;
}

function withChild(node: unknown, [step, ...rest]: string[], value: unknown): unknown {
  if (step === undefined) {
    return value;
  }
  if (Array.isArray(node)) {
    return node.map((item, i) => (i === Number(step) ? withChild(item, rest, value) : item));
  }
  const { [step]: old, ...others } = isObject(node) ? node : {};
  const next = withChild(old, rest, value);
  if (next === undefined || (isObject(next) && Object.keys(next).length === 0)) {
    return others;
  }
  return { ...(isObject(node) ? node : {}), [step]: next };
}
