import { ConfigSection } from '@grafana/plugin-ui';
import React from 'react';

import { type ClusterSettings, type EndpointSettings } from '../../types';
import { ItemList } from '../form/ItemList';
import { Fields } from '../form/Folded';
import { useForm } from '../form/Form';
import { TextSetting } from '../form/TextSetting';
import { clustersOf, firstFree, type Options, slug } from '../options';
import { endpointSecrets, forget } from '../secrets';
import { EndpointFields } from './EndpointFields';

/** Where history comes from: the GPU clusters and the servers that know them. */
export function ClustersSection() {
  return (
    <ConfigSection
      title="Clusters"
      description="History comes from here: Prometheus, Thanos, Mimir, Cortex or VictoriaMetrics. Servers of one cluster are replicas or shards of each other."
      isCollapsible
    >
      <ItemList<ClusterSettings>
        path="clusters"
        noun="cluster"
        nameOf={({ name }, index) => name || String(index + 1)}
        create={newCluster}
        onRemove={(options, { endpoints = [] }) => endpoints.reduce(forgetEndpoint, options)}
      >
        {(_, path, index) => <Cluster path={path} index={index} />}
      </ItemList>
    </ConfigSection>
  );
}

function Cluster({ path, index }: { path: string; index: number }) {
  const clusters = clustersOf(useForm().options);
  const { name = '', endpoints = [] } = clusters[index];
  return (
    <Fields>
      <TextSetting
        path={`${path}.name`}
        label="Name"
        description="Becomes the label cluster of every series"
        width={30}
        required
        check={(text) => nameProblem(text, index, clusters)}
      />
      <ItemList<EndpointSettings>
        path={`${path}.endpoints`}
        noun="endpoint"
        nameOf={({ id }, i) => id || String(i + 1)}
        create={(options) => newEndpoint(name, clustersOf(options))}
        onRemove={forgetEndpoint}
      >
        {(endpoint, at) => <EndpointFields path={at} endpoint={endpoint} siblings={endpoints} />}
      </ItemList>
    </Fields>
  );
}

function nameProblem(text: string, index: number, clusters: ClusterSettings[]): string | undefined {
  if (text.trim() === '') {
    return 'Give the cluster a name.';
  }
  return clusters.some((other, i) => i !== index && other.name?.trim() === text.trim())
    ? 'Another cluster has this name: list both servers as endpoints of one cluster, or rename one.'
    : undefined;
}

function newCluster(options: Options): ClusterSettings {
  const clusters = clustersOf(options);
  const name = firstFree(
    'cluster',
    clusters.map((cluster) => cluster.name)
  );
  return { name, endpoints: [newEndpoint(name, clusters)] };
}

function newEndpoint(clusterName: string, clusters: ClusterSettings[]): EndpointSettings {
  const ids = clusters.flatMap(({ endpoints = [] }) => endpoints.map(({ id }) => id));
  return { id: firstFree(`${slug(clusterName)}-prometheus`, ids), url: '' };
}

function forgetEndpoint(options: Options, { id, headers }: EndpointSettings): Options {
  return forget(options, endpointSecrets(id), headers);
}
