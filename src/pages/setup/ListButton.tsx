import { arrayToDataFrame } from '@grafana/data';
import React from 'react';

import { CsvButton } from '../shared/Actions';

/** Keeps a list of this page as CSV. */
export function ListButton<T extends object>({ name, rows }: { name: string; rows: T[] }) {
  return (
    <CsvButton
      name={name}
      frame={arrayToDataFrame(rows)}
      rows={rows.map((row) => Object.fromEntries(Object.entries(row)))}
    />
  );
}
