import { EditorField, EditorRow } from '@grafana/plugin-ui';
import { MultiCombobox } from '@grafana/ui';
import React from 'react';

import { type DataSource } from '../DataSource';
import { type GpuQuery, type TableQueryType } from '../types';
import { EVENT_KINDS } from './choices';
import { durationProblem } from './duration';
import { MaxRowsField } from './MaxRowsField';
import { ScopeRow } from './ScopeRow';
import { SourceFields } from './SourceFields';
import { TextField } from './TextField';

interface Props {
  id: string;
  type: TableQueryType;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
  isRule: boolean;
}

/** The fields of a query whose answer is a list. */
export function TableEditor({ id, type, datasource, query, onChange, isRule }: Props) {
  return (
    <>
      {type !== 'coverage' && (
        <EditorRow>
          {type === 'events' && <EventFields id={id} query={query} onChange={onChange} />}
          <SourceFields id={id} query={query} onChange={onChange} isRule={isRule} />
          <MaxRowsField id={id} query={query} onChange={onChange} />
        </EditorRow>
      )}
      <ScopeRow id={id} datasource={datasource} query={query} onChange={onChange} />
    </>
  );
}

function EventFields({ id, query, onChange }: Pick<Props, 'id' | 'query' | 'onChange'>) {
  const { kinds = [] } = query;
  const others = kinds.filter((kind) => !EVENT_KINDS.some(({ value }) => value === kind));
  return (
    <>
      <EditorField label="Kinds" tooltip="Nothing chosen means all">
        <MultiCombobox
          id={`${id}-kinds`}
          options={[...EVENT_KINDS, ...others.map((value) => ({ value, label: value }))]}
          value={kinds}
          placeholder="All kinds"
          isClearable
          createCustomValue
          width="auto"
          minWidth={24}
          maxWidth={70}
          onChange={(chosen) => onChange({ kinds: chosen.map(({ value }) => value) })}
        />
      </EditorField>
      <TextField
        id={`${id}-min-duration`}
        label="Shortest"
        value={query.minDuration ?? ''}
        placeholder="10s"
        tooltip="Throttling that lasted shorter is left out"
        width={12}
        check={durationProblem}
        onCommit={(minDuration) => onChange({ minDuration: minDuration.trim() })}
      />
    </>
  );
}
