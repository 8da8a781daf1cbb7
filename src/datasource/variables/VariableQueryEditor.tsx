import { type QueryEditorProps } from '@grafana/data';
import { EditorField, EditorRow, EditorRows } from '@grafana/plugin-ui';
import { Alert, Combobox } from '@grafana/ui';
import React from 'react';

import { type DataSource } from '../DataSource';
import { ValuesSelect } from '../editor/ValuesSelect';
import { messageOf } from '../../shared/messageOf';
import { type GpuQuery, type GpuSettings, type GpuVariableQuery, type Parents, type VariableKind } from '../types';
import { isParentKind, kindInfo, KINDS, PARENT_KEYS, type ParentKind } from './kinds';
import { DEFAULT_VARIABLE_QUERY, parseVariableQuery } from './parseVariableQuery';

export type Props = QueryEditorProps<DataSource, GpuQuery, GpuSettings, GpuVariableQuery>;

const ID = 'warpwatch-variable';

/** The editor of a template variable: what to list, and under which parents. */
export function VariableQueryEditor({ datasource, query: stored, onChange }: Props) {
  const { query, problem } = read(stored);

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
        {offered(query).map((parent, i, parents) => (
          <ValuesSelect
            key={parent}
            id={`${ID}-${PARENT_KEYS[parent]}`}
            label={`In ${kindInfo(parent).label.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase())}`}
            placeholder="All"
            kind={parent}
            datasource={datasource}
            parents={parentsIn(query, parents.slice(0, i))}
            values={query[PARENT_KEYS[parent]]}
            onChange={(values) => change({ [PARENT_KEYS[parent]]: values })}
          />
        ))}
      </EditorRow>
    </EditorRows>
  );
}

/** The parents to choose: those that are usual for the kind, and others that the query has. */
function offered(query: GpuVariableQuery): ParentKind[] {
  const usual = kindInfo(query.kind).parents;
  const others = Object.keys(PARENT_KEYS).filter(isParentKind);
  return [...usual, ...others.filter((kind) => !usual.includes(kind) && query[PARENT_KEYS[kind]]?.length)];
}

function parentsIn(query: GpuVariableQuery, kinds: ParentKind[]): Parents {
  return Object.fromEntries(kinds.map((kind) => [PARENT_KEYS[kind], query[PARENT_KEYS[kind]]]));
}

/** The query for another kind: parents that do not usually narrow it are forgotten. */
function ofKind({ refId, ...query }: GpuVariableQuery, kind: VariableKind): GpuVariableQuery {
  const kept = kindInfo(kind)
    .parents.map((parent) => PARENT_KEYS[parent])
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
