import React from 'react';

import { Page } from '../shared/Page';
import { MetricsView } from './MetricsView';

/** The catalogue: every metric by its meaning, and where it comes from here. */
export function MetricsPage() {
  return (
    <Page subTitle="What can be asked for, what it means, and where it comes from here" filters={['clusters']}>
      {(view) => <MetricsView {...view} />}
    </Page>
  );
}
