import React from 'react';

import { type GpuQuery } from '../types';
import { NumberField } from './NumberField';

interface Props {
  id: string;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
}

/** How many rows a table has at most; those that need a look are kept first. */
export function MaxRowsField({ id, query, onChange }: Props) {
  return (
    <NumberField
      id={`${id}-max-rows`}
      label="Most rows"
      value={query.maxRows}
      placeholder="10000"
      tooltip="Of more rows those that need a look are kept, and a notice says how many there were"
      least={1}
      most={500_000}
      whole
      onCommit={(maxRows) => onChange({ maxRows })}
    />
  );
}
