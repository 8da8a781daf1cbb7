import React from 'react';

import { Page } from '../shared/Page';
import { JobsView } from './JobsView';

/** Who has which GPUs, what became of their time, and what was wasted. */
export function JobsPage() {
  return (
    <Page subTitle="Who has GPUs, what became of their time, and what it cost" filters={['clusters', 'namespaces']}>
      {(view) => <JobsView {...view} />}
    </Page>
  );
}
