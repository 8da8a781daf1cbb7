import { EditorRow } from '@grafana/plugin-ui';
import React from 'react';

import { type DataSource } from '../DataSource';
import { type GpuQuery } from '../types';
import { parentsOf, SCOPE_FIELDS } from './scopeFields';
import { ValuesSelect } from './ValuesSelect';

interface Props {
  id: string;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
}

/** What the query is restricted to, from the cluster down to the MIG instance. */
export function ScopeRow({ id, datasource, query, onChange }: Props) {
  return (
    <EditorRow>
      {SCOPE_FIELDS.map(({ key, kind, label, placeholder }) => (
        <ValuesSelect
          key={key}
          id={`${id}-${key}`}
          label={label}
          placeholder={placeholder}
          kind={kind}
          datasource={datasource}
          parents={parentsOf(kind, query)}
          values={query[key]}
          onChange={(values) => onChange({ [key]: values })}
        />
      ))}
    </EditorRow>
  );
}
