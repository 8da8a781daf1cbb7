import React from 'react';

import { Page } from '../shared/Page';
import { HealthView } from './HealthView';

/** The landing page: which GPU needs somebody, why, and what to do. */
export function HealthPage() {
  return (
    <Page subTitle="Which GPU needs you, the worst first" filters={['clusters', 'nodes', 'models']}>
      {(view) => <HealthView {...view} />}
    </Page>
  );
}
