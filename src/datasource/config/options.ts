import { type DataSourceSettings } from '@grafana/data';

import {
  type AgentSettings,
  type ClusterSettings,
  type EndpointSettings,
  type GpuSecrets,
  type GpuSettings,
} from '../types';

/** The data source as Grafana's settings page holds it. */
export type Options = DataSourceSettings<GpuSettings, GpuSecrets>;

/** The secrets of one server or of the agents; each is a key of secureJsonData after the owner's prefix. */
export const SECRET_NAMES = ['password', 'token', 'caCert'] as const;

export type SecretName = (typeof SECRET_NAMES)[number];

/** Prefix of the agents' secrets. */
export const AGENT_SECRETS = 'agents_';

/** Prefix of an endpoint's secrets. */
export function endpointSecrets(id: string): string {
  return `endpoint_${id}_`;
}

/** The options with some settings changed. */
export function withSettings(options: Options, change: Partial<GpuSettings>): Options {
  return { ...options, jsonData: { ...options.jsonData, ...change } };
}

/** The options with some of the agents' settings changed. */
export function withAgents(options: Options, change: Partial<AgentSettings>): Options {
  return withSettings(options, { agents: { ...options.jsonData.agents, ...change } });
}

/** The options with a secret as typed; it is stored when the page is saved. */
export function withSecret(options: Options, key: string, value: string): Options {
  return { ...options, secureJsonData: { ...options.secureJsonData, [key]: value } };
}

/** The options without a stored secret, so that another can be typed; saved like this, it is gone. */
export function withoutSecret(options: Options, key: string): Options {
  return {
    ...options,
    secureJsonFields: { ...options.secureJsonFields, [key]: false },
    secureJsonData: { ...options.secureJsonData, [key]: '' },
  };
}

/** The options with a new cluster at the end, one endpoint in it. */
export function addCluster(options: Options): Options {
  const clusters = clustersOf(options);
  const name = firstFree(
    'cluster',
    clusters.map((cluster) => cluster.name)
  );
  const endpoint = newEndpoint(name, clusters);
  return withSettings(options, { clusters: [...clusters, { name, endpoints: [endpoint] }] });
}

/** The options with a cluster changed. Ids of its endpoints stay as they are: secrets hang on them. */
export function changeCluster(options: Options, index: number, change: Partial<ClusterSettings>): Options {
  const clusters = clustersOf(options).map((cluster, i) => (i === index ? { ...cluster, ...change } : cluster));
  return withSettings(options, { clusters });
}

/** The options without a cluster and the secrets of its endpoints. */
export function removeCluster(options: Options, index: number): Options {
  const clusters = clustersOf(options);
  const removed = clusters[index];
  const forgetting = removed.endpoints.reduce((current, { id }) => forget(current, endpointSecrets(id)), options);
  return withSettings(forgetting, { clusters: clusters.filter((cluster) => cluster !== removed) });
}

/** The options with a new endpoint at the end of a cluster. */
export function addEndpoint(options: Options, clusterIndex: number): Options {
  const clusters = clustersOf(options);
  const { name, endpoints } = clusters[clusterIndex];
  return changeCluster(options, clusterIndex, { endpoints: [...endpoints, newEndpoint(name, clusters)] });
}

/** The options with an endpoint changed. */
export function changeEndpoint(
  options: Options,
  clusterIndex: number,
  id: string,
  change: Partial<EndpointSettings>
): Options {
  const endpoints = clustersOf(options)[clusterIndex].endpoints.map((endpoint) =>
    endpoint.id === id ? { ...endpoint, ...change } : endpoint
  );
  return changeCluster(options, clusterIndex, { endpoints });
}

/** The options without an endpoint and its secrets. */
export function removeEndpoint(options: Options, clusterIndex: number, id: string): Options {
  const endpoints = clustersOf(options)[clusterIndex].endpoints.filter((endpoint) => endpoint.id !== id);
  return changeCluster(forget(options, endpointSecrets(id)), clusterIndex, { endpoints });
}

/** The clusters, none before anything is set up. */
export function clustersOf(options: Options): ClusterSettings[] {
  return options.jsonData.clusters ?? [];
}

/** An id that is handed out again must not find the secrets of its former owner. */
function forget(options: Options, prefix: string): Options {
  return SECRET_NAMES.map((name) => prefix + name)
    .filter((key) => options.secureJsonFields?.[key] || options.secureJsonData?.[key])
    .reduce(withoutSecret, options);
}

function newEndpoint(clusterName: string, clusters: ClusterSettings[]): EndpointSettings {
  const ids = clusters.flatMap(({ endpoints }) => endpoints.map(({ id }) => id));
  return { id: firstFree(`${slug(clusterName)}-prometheus`, ids), url: '', auth: 'none' };
}

/** The name itself, or with the lowest number that is free. */
function firstFree(name: string, taken: string[]): string {
  let candidate = name;
  for (let n = 2; taken.includes(candidate); n++) {
    candidate = `${name}-${n}`;
  }
  return candidate;
}

/** Letters, digits, - and _ only: ids are part of secrets' keys. */
function slug(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return plain.slice(0, 40) || 'cluster';
}
