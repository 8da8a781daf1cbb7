import React from 'react';

import { Page } from '../shared/Page';
import { CoverageView } from './CoverageView';

/** The doctor: what can be seen here, what cannot, and the line that lights it. */
export function CoveragePage() {
  return (
    <Page subTitle="What can be seen here, what cannot, and how to see it" filters={['clusters']}>
      {(view) => <CoverageView {...view} />}
    </Page>
  );
}
