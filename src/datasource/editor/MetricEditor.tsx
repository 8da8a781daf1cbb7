import { EditorField, EditorRow } from '@grafana/plugin-ui';
import { Combobox } from '@grafana/ui';
import React, { useCallback, useMemo } from 'react';

import { useAnswer } from '../../shared/useAnswer';
import { type DataSource } from '../DataSource';
import { type AggregateBy, type GpuQuery, type Metric } from '../types';
import { aggregationsFor, groupingOptions } from './choices';
import { MetricMeaning } from './MetricMeaning';
import { MetricPicker } from './MetricPicker';
import { ScopeRow } from './ScopeRow';
import { SourceFields } from './SourceFields';
import { useAvailability } from './useAvailability';

interface Props {
  id: string;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
  /** Whether a rule asks, which has no stream. */
  isRule: boolean;
}

/** The fields of a query by meaning. */
export function MetricEditor({ id, datasource, query, onChange, isRule }: Props) {
  const catalogue = useAnswer(useCallback(() => datasource.metrics(), [datasource]));
  const available = useAvailability(datasource, query);
  const metric = useMemo(
    () => catalogue.value?.find(({ name }) => name === query.metric),
    [catalogue.value, query.metric]
  );
  const by = query.aggregateBy ?? 'identity';
  const aggregation = query.aggregation ?? '';
  const isWorkload = metric?.subject === 'workload';

  return (
    <>
      <EditorRow>
        <MetricPicker
          id={`${id}-metric`}
          catalogue={catalogue}
          available={available}
          value={query.metric ?? ''}
          onChange={(name) => onChange(ofMetric(query, name, catalogue.value))}
        />
        {query.format !== 'matrix' && (
          <EditorField label="One series per" width={24}>
            <Combobox
              id={`${id}-by`}
              width={24}
              options={groupingOptions(metric, by)}
              value={by}
              onChange={({ value }) => onChange(ofGrouping(query, value, metric))}
            />
          </EditorField>
        )}
        <EditorField
          label="Aggregation"
          width={18}
          tooltip="How the devices of one series, and the samples of one step, become one value"
        >
          <Combobox
            id={`${id}-aggregation`}
            width={20}
            options={aggregationsFor(metric, by, aggregation)}
            value={aggregation}
            onChange={({ value }) => onChange({ aggregation: value })}
          />
        </EditorField>
        {!isWorkload && <SourceFields id={id} query={query} onChange={onChange} isRule={isRule} />}
      </EditorRow>
      {metric && (
        <EditorRow>
          <MetricMeaning metric={metric} available={available?.get(metric.name)} />
        </EditorRow>
      )}
      <ScopeRow
        id={id}
        datasource={datasource}
        query={query}
        onChange={onChange}
        without={isWorkload ? ['gpus', 'migs'] : undefined}
      />
    </>
  );
}

/** The query for another metric: what does not make sense for it goes back to its default. */
function ofMetric(query: GpuQuery, name: string, metrics: Metric[] | undefined): Partial<GpuQuery> {
  const metric = metrics?.find((each) => each.name === name);
  const by = query.aggregateBy ?? 'identity';
  const groups = !metric || groupingOptions(metric, 'identity').some(({ value }) => value === by);
  const aggregates = !query.aggregation || !metric || metric.aggregations.includes(query.aggregation);
  return {
    metric: name,
    ...(!groups && { aggregateBy: 'identity' }),
    ...(!aggregates && { aggregation: '' }),
  };
}

/** The query for another grouping; quantiles over devices are known of groups only. */
function ofGrouping({ aggregation }: GpuQuery, by: AggregateBy, metric: Metric | undefined): Partial<GpuQuery> {
  const keeps = !aggregation || !metric || by !== 'identity' || metric.aggregations.includes(aggregation);
  return keeps ? { aggregateBy: by } : { aggregateBy: by, aggregation: '' };
}
