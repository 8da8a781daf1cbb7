import { EditorField, EditorRow, EditorSwitch } from '@grafana/plugin-ui';
import { Combobox } from '@grafana/ui';
import React, { useCallback } from 'react';

import { type DataSource } from '../DataSource';
import { type Aggregation, type GpuQuery } from '../types';
import { AGGREGATE_BY, aggregationOptions, SOURCES } from './choices';
import { MetricMeaning } from './MetricMeaning';
import { MetricPicker } from './MetricPicker';
import { ScopeRow } from './ScopeRow';
import { useAnswer } from '../../shared/useAnswer';

const ALL_AGGREGATIONS: Aggregation[] = ['avg', 'max', 'min', 'sum'];

interface Props {
  id: string;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
}

/** The fields of a query by meaning. */
export function MetricEditor({ id, datasource, query, onChange }: Props) {
  const catalogue = useAnswer(useCallback(() => datasource.metrics(), [datasource]));
  const by = query.aggregateBy ?? 'identity';

  const chooseMetric = (name: string) => {
    const accepted = catalogue.value?.find((each) => each.name === name)?.aggregations;
    const keeps = !query.aggregation || !accepted || accepted.includes(query.aggregation);
    onChange(keeps ? { metric: name } : { metric: name, aggregation: '' });
  };
  const metric = catalogue.value?.find(({ name }) => name === query.metric);
  const accepted = metric?.aggregations ?? ALL_AGGREGATIONS;

  return (
    <>
      <EditorRow>
        <MetricPicker id={`${id}-metric`} catalogue={catalogue} value={query.metric ?? ''} onChange={chooseMetric} />
        <EditorField label="One series per" width={24}>
          <Combobox
            id={`${id}-by`}
            options={AGGREGATE_BY}
            value={by}
            onChange={({ value }) => onChange({ aggregateBy: value })}
          />
        </EditorField>
        <EditorField
          label="Aggregation"
          width={18}
          tooltip="How the devices of one series, and the samples of one step, become one value"
        >
          <Combobox
            id={`${id}-aggregation`}
            options={aggregationOptions(accepted)}
            value={query.aggregation ?? ''}
            onChange={({ value }) => onChange({ aggregation: value })}
          />
        </EditorField>
        <EditorField label="Source" width={16}>
          <Combobox
            id={`${id}-source`}
            options={SOURCES}
            value={query.source ?? 'auto'}
            onChange={({ value }) => onChange({ source: value })}
          />
        </EditorField>
        <EditorField label="Stream" tooltip="A panel whose range ends at now goes on by the agents’ samples">
          <EditorSwitch
            id={`${id}-live`}
            value={query.live ?? true}
            onChange={(event) => onChange({ live: event.currentTarget.checked })}
          />
        </EditorField>
      </EditorRow>
      {metric && (
        <EditorRow>
          <MetricMeaning metric={metric} />
        </EditorRow>
      )}
      <ScopeRow id={id} datasource={datasource} query={query} onChange={onChange} />
    </>
  );
}
