import React from 'react';
import { useParams } from 'react-router-dom';

import { Page } from '../shared/Page';
import { clusterPath, fromSegment, PATHS } from '../shared/paths';
import { ClusterView } from './ClusterView';

/** A cluster: the step between the fleet and its nodes. */
export function ClusterPage() {
  const cluster = fromSegment(useParams().cluster);
  const nav = {
    text: cluster || 'No cluster',
    url: clusterPath(cluster),
    parentItem: { text: 'Fleet', url: PATHS.fleet },
  };
  return (
    <Page
      nav={nav}
      subTitle="Its nodes with the worst first, incidents, and what holds its GPUs back"
      filters={['models']}
    >
      {(view) => <ClusterView key={cluster} {...view} cluster={cluster} />}
    </Page>
  );
}
