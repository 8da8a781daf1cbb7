import React from 'react';

import { Page } from '../shared/Page';
import { FleetView } from './FleetView';

/** The whole fleet at a glance, and the way down to its nodes. */
export function FleetPage() {
  return (
    <Page subTitle="Every GPU, what holds it back, and the nodes" filters={['clusters', 'nodes', 'models']}>
      {(view) => <FleetView {...view} />}
    </Page>
  );
}
