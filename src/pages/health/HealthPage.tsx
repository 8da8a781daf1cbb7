import React from 'react';

import { Page } from '../shared/Page';
import { HealthView } from './HealthView';

/** Grafana takes the app's first page for the app, and would call it by the app's name. */
const NAV = { text: 'Health' };

/** The landing page: which GPU needs somebody, why, and what to do. */
export function HealthPage() {
  return (
    <Page nav={NAV} subTitle="Which GPU needs you, the worst first" filters={['clusters', 'nodes', 'models']}>
      {(view) => <HealthView {...view} />}
    </Page>
  );
}
