import { EmptyState, LinkButton, Stack } from '@grafana/ui';
import React from 'react';

import { NEW_DATA_SOURCE_PATH } from '../../shared/dataSources';
import { PATHS } from '../shared/paths';

/** There is no data source of ours that this user can see, which says nothing about GPUs: the way to the guide. */
export function FirstRun() {
  return (
    <section aria-label="Getting started">
      <EmptyState
        variant="call-to-action"
        message="Nothing is connected yet"
        button={
          <Stack gap={1} justifyContent="center">
            <LinkButton icon="rocket" size="lg" href={PATHS.setup}>
              Set up Warpwatch
            </LinkButton>
            <LinkButton icon="plus" size="lg" variant="secondary" href={NEW_DATA_SOURCE_PATH}>
              Add a Warpwatch GPU data source
            </LinkButton>
          </Stack>
        }
      >
        No GPU is judged without a data source, so this is no sign that all is well. Setup connects Prometheus, finds
        agents, and says what is there already.
      </EmptyState>
    </section>
  );
}
