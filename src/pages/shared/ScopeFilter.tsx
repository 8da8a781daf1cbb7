import { MultiCombobox } from '@grafana/ui';
import React, { useCallback } from 'react';

import { type VariableKind, type VariableValues } from '../../datasource/types';
import { useAnswer } from '../../shared/useAnswer';
import { getResource } from './resource';
import { type PageState, SCOPE_PARAMETERS, type ScopeKey } from './usePageState';

const LABELS: Record<ScopeKey, string> = {
  clusters: 'Cluster',
  nodes: 'Node',
  models: 'Model',
  namespaces: 'Namespace',
};

const KINDS: Record<ScopeKey, VariableKind> = {
  clusters: 'cluster',
  nodes: 'node',
  models: 'model',
  namespaces: 'namespace',
};

/** Restricts a page to some values of one level, out of those that there are. */
export function ScopeFilter({ state, level }: { state: PageState; level: ScopeKey }) {
  const { uid, scope } = state;
  const chosen = scope[level] ?? [];
  const parents = level === 'clusters' ? [] : (scope.clusters ?? []);
  const question = JSON.stringify({ kind: KINDS[level], cluster: parents });
  const answer = useAnswer(
    useCallback(
      () => (uid ? getResource<VariableValues>(uid, 'variables', JSON.parse(question)) : Promise.reject(NO_SOURCE)),
      [uid, question]
    )
  );
  const listed = answer.value?.values ?? [];
  const gone = chosen.filter((value) => !listed.some((one) => one.value === value));
  return (
    <MultiCombobox
      aria-label={LABELS[level]}
      options={[
        ...listed.map(({ value, text }) => ({ value, label: text })),
        ...gone.map((value) => ({ value, label: value })),
      ]}
      value={chosen}
      placeholder={answer.error ? `${LABELS[level]}: cannot be listed` : `${LABELS[level]}: all`}
      isClearable
      width="auto"
      minWidth={20}
      maxWidth={50}
      onChange={(options) => state.set({ [SCOPE_PARAMETERS[level]]: options.map(({ value }) => value) })}
    />
  );
}

const NO_SOURCE = new Error('There is no data source of type Warpwatch GPU.');
