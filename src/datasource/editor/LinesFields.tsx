import { EditorField } from '@grafana/plugin-ui';
import { Combobox } from '@grafana/ui';
import React from 'react';

import { queryTypeOf } from '../query';
import { type GpuQuery, type Reduce } from '../types';
import { PROMQL_REDUCTIONS, RANKINGS, REDUCTIONS } from './choices';
import { NumberField } from './NumberField';

interface Props {
  id: string;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
}

const DEFAULT_K = 10;

/** What an answer of very many lines is made into, and how many are very many. */
export function LinesFields({ id, query, onChange }: Props) {
  const { mode = 'auto', k, by = 'avg' } = query.reduce ?? {};
  const ranked = mode === 'topk' || mode === 'bottomk';
  const change = (part: Reduce) => onChange({ reduce: { ...query.reduce, mode, ...part } });

  return (
    <>
      <EditorField label="Lines" width={20} tooltip="What very many lines are made into">
        <Combobox
          id={`${id}-reduce`}
          width={20}
          options={queryTypeOf(query) === 'promql' ? PROMQL_REDUCTIONS : REDUCTIONS}
          value={mode}
          onChange={({ value }) => onChange({ reduce: value === 'auto' ? undefined : { mode: value } })}
        />
      </EditorField>
      {ranked && (
        <>
          <NumberField
            id={`${id}-k`}
            label="How many"
            value={k}
            placeholder={String(DEFAULT_K)}
            least={1}
            most={1000}
            whole
            onCommit={(value) => change({ k: value })}
          />
          <EditorField label="Ranked by" width={16}>
            <Combobox
              id={`${id}-rank`}
              width={16}
              options={RANKINGS}
              value={by}
              onChange={({ value }) => change({ by: value })}
            />
          </EditorField>
        </>
      )}
      {!ranked && mode !== 'all' && (
        <NumberField
          id={`${id}-max-series`}
          label="Most lines"
          value={query.maxSeries}
          placeholder="Of the data source"
          tooltip="More lines than this are very many"
          width={18}
          least={1}
          most={1_000_000}
          whole
          onCommit={(maxSeries) => onChange({ maxSeries })}
        />
      )}
    </>
  );
}
