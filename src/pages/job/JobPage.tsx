import React from 'react';
import { useParams } from 'react-router-dom';

import { Page } from '../shared/Page';
import { fromSegment, jobPath, PATHS } from '../shared/paths';
import { JobView } from './JobView';

/** A training job or a server: how far it comes, who slows it down, and what its GPUs do meanwhile. */
export function JobPage() {
  const { cluster, namespace, job } = useParams();
  const key = { cluster: fromSegment(cluster), namespace: fromSegment(namespace), job: fromSegment(job) };
  const path = jobPath(key);
  return (
    <Page
      nav={{ text: key.job, url: path, parentItem: { text: 'Jobs and tenants', url: PATHS.jobs } }}
      subTitle={[key.cluster, key.namespace].filter(Boolean).join(' · ')}
    >
      {(view) => <JobView key={path} {...view} job={key} />}
    </Page>
  );
}
