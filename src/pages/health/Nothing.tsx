import { EmptyState, LinkButton, Stack } from '@grafana/ui';
import React from 'react';

import { PATHS } from '../shared/paths';

/** No GPU was judged, which never means that all is well. */
export function Nothing({ scoped }: { scoped: boolean }) {
  return (
    <EmptyState
      variant="not-found"
      message={scoped ? 'No GPU is known within these filters and this time range' : 'No GPU is known'}
      button={
        <Stack justifyContent="center" wrap="wrap">
          <LinkButton icon="heart-rate" href={PATHS.coverage}>
            Look where data comes from
          </LinkButton>
          <LinkButton icon="rocket" variant="secondary" href={PATHS.setup}>
            Open the setup guide
          </LinkButton>
        </Stack>
      }
    >
      Neither Prometheus nor an agent told of any. This says nothing about the health of GPUs.
    </EmptyState>
  );
}
