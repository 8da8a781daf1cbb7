import { type DataFrame, FieldType } from '@grafana/data';
import { Button, LinkButton } from '@grafana/ui';
import React from 'react';

import { type GpuQuery } from '../../datasource/types';
import { type RawRange } from './ask';
import { download, toCsv } from './csv';
import { explorePath } from './paths';
import { type Row } from './rows';

/** Keeps all rows of a list, not only those of its present page, with every column that was answered. */
export function CsvButton({ name, frame, rows }: { name: string; frame: DataFrame | undefined; rows: Row[] }) {
  const fields = frame?.fields ?? [];
  const times = fields.filter(({ type }) => type === FieldType.time).map((field) => field.name);
  const columns = fields.map((field) => field.name);
  return (
    <Button
      size="sm"
      variant="secondary"
      icon="download-alt"
      disabled={rows.length === 0}
      onClick={() => download(`${name}.csv`, toCsv(columns, rows, times))}
    >
      CSV
    </Button>
  );
}

interface ExploreProps {
  uid: string;
  queries: GpuQuery[];
  range: RawRange;
}

/** Opens the queries that a part of the page is made of. */
export function ExploreLink({ uid, queries, range }: ExploreProps) {
  return (
    <LinkButton size="sm" variant="secondary" icon="compass" href={explorePath(uid, queries, range)}>
      Explore
    </LinkButton>
  );
}
