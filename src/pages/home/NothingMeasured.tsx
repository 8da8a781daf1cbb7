import { Alert, LinkButton } from '@grafana/ui';
import React, { useCallback } from 'react';

import { type VariableValues } from '../../datasource/types';
import { useAnswer } from '../../shared/useAnswer';
import { PATHS } from '../shared/paths';
import { getResource } from '../shared/resource';

interface Props {
  uid: string;
  /** Asks again when it changes. */
  tick: number;
}

/** Says that a data source knows no node at all, and leads to the guide. Where that cannot be asked, the page itself says why. */
export function NothingMeasured({ uid, tick }: Props) {
  const { value } = useAnswer(
    useCallback(() => {
      void tick;
      return getResource<VariableValues>(uid, 'variables', { kind: 'node' });
    }, [uid, tick])
  );
  if (value?.values.length !== 0) {
    return null;
  }
  return (
    <Alert severity="warning" title="No GPU is measured yet">
      <p>Neither Prometheus nor an agent tells of a GPU now. That is no sign that all is well: nothing is looked at.</p>
      <LinkButton icon="rocket" href={`${PATHS.setup}?${new URLSearchParams({ ds: uid })}`}>
        Set up Warpwatch
      </LinkButton>
    </Alert>
  );
}
