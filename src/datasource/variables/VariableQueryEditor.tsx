import { type QueryEditorProps } from '@grafana/data';
import { EditorField, EditorRow, EditorRows } from '@grafana/plugin-ui';
import { Alert, Combobox } from '@grafana/ui';
import React from 'react';

import { type DataSource } from '../DataSource';
import { ValuesSelect } from '../editor/ValuesSelect';
import { messageOf } from '../../shared/messageOf';
import { type GpuQuery, type GpuSettings, type GpuVariableQuery, type VariableKind } from '../types';
import { isParentKind, kindInfo, KINDS, PARENT_KEYS } from './kinds';
import { DEFAULT_VARIABLE_QUERY, parseVariableQuery } from './parseVariableQuery';

export type Props = QueryEditorProps<DataSource, GpuQuery, GpuSettings, GpuVariableQuery>;

const ID = 'warpwatch-variable';

/** The editor of a template variable: what to list, and under which parents. */
export function VariableQueryEditor({ datasource, query: stored, onChange }: Props) {
  const { query, problem } = read(stored);
  const info = kindInfo(query.kind);

  const change = (part: Partial<GpuVariableQuery>) => onChange({ ...query, ...part });

  return (
    <EditorRows>
      {problem && (
        <Alert severity="error" title="The stored query cannot be read">
          {problem} Choosing a kind below replaces it.
        </Alert>
      )}
      <EditorRow>
        <EditorField label="List" width={30}>
          <Combobox
            id={`${ID}-kind`}
            options={KINDS.map(({ kind, label, description }) => ({ value: kind, label, description }))}
            value={query.kind}
            onChange={({ value }) => onChange(ofKind(query, value))}
          />
        </EditorField>
        {info.parents.filter(isParentKind).map((parent, i, parents) => {
          const key = PARENT_KEYS[parent];
          const above = Object.fromEntries(
            parents.slice(0, i).map((each) => [PARENT_KEYS[each], query[PARENT_KEYS[each]]])
          );
          return (
            <ValuesSelect
              key={parent}
              id={`${ID}-${key}`}
              label={`In ${kindInfo(parent).label.toLowerCase().replace('gpus', 'GPUs')}`}
              placeholder="All"
              kind={parent}
              datasource={datasource}
              parents={above}
              values={query[key]}
              onChange={(values) => change({ [key]: values })}
            />
          );
        })}
      </EditorRow>
    </EditorRows>
  );
}

/** The query for another kind: parents that do not narrow it are forgotten. */
function ofKind({ refId, ...query }: GpuVariableQuery, kind: VariableKind): GpuVariableQuery {
  const kept = kindInfo(kind)
    .parents.filter(isParentKind)
    .map((parent) => PARENT_KEYS[parent])
    .filter((key) => query[key]?.length);
  return { refId, kind, ...Object.fromEntries(kept.map((key) => [key, query[key]])) };
}

function read(stored: unknown): { query: GpuVariableQuery; problem?: string } {
  try {
    return { query: parseVariableQuery(stored) };
  } catch (error) {
    return { query: DEFAULT_VARIABLE_QUERY, problem: messageOf(error) };
  }
}
