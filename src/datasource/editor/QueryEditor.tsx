import { CoreApp, type QueryEditorProps } from '@grafana/data';
import { EditorField, EditorHeader, EditorRows, FlexItem, RunQueryButton, Space } from '@grafana/plugin-ui';
import { Alert, Combobox } from '@grafana/ui';
import React from 'react';

import { type DataSource } from '../DataSource';
import { defaultQuery, isComplete, queryTypeOf, SCHEMA_VERSION } from '../query';
import { type GpuQuery, type GpuSettings, type QueryType } from '../types';
import { QUERY_TYPES } from './choices';
import { MetricEditor } from './MetricEditor';
import { OptionsRow } from './OptionsRow';
import { PromqlEditor } from './PromqlEditor';

export type Props = QueryEditorProps<DataSource, GpuQuery, GpuSettings>;

/** The query editor: the type first, then the fields of that type. Every committed change runs the query. */
export function QueryEditor({ datasource, query, onChange, onRunQuery, app, data }: Props) {
  const queryType = queryTypeOf(query);
  const id = `warpwatch-${query.refId}`;

  const change = (part: Partial<GpuQuery>) => {
    const next: GpuQuery = { ...query, schemaVersion: SCHEMA_VERSION, queryType, ...part };
    onChange(next);
    if (isComplete(next)) {
      onRunQuery();
    }
  };
  const chooseType = (chosen: QueryType) => {
    const metric = chosen === 'metric' ? (query.metric ?? defaultQuery().metric) : query.metric;
    change({ queryType: chosen, metric });
  };

  return (
    <>
      <EditorHeader>
        <EditorField label="Query type" width={20}>
          <Combobox
            id={`${id}-type`}
            options={QUERY_TYPES}
            value={queryType}
            onChange={({ value }) => chooseType(value)}
          />
        </EditorField>
        <FlexItem grow={1} />
        {app !== CoreApp.Explore && (
          <RunQueryButton
            queryInvalid={!isComplete(query)}
            queryRunning={data?.state === 'Loading'}
            onClick={onRunQuery}
          />
        )}
      </EditorHeader>
      <Space v={0.5} />
      {isRule(app) && datasource.targetContainsTemplate(query) && (
        <Alert severity="warning" title="Alert rules have no dashboard variables">
          This query uses variables, which nothing replaces when the rule is evaluated. Write the values instead.
        </Alert>
      )}
      <EditorRows>
        {queryType === 'promql' ? (
          <PromqlEditor id={id} datasource={datasource} query={query} onChange={change} onRunQuery={onRunQuery} />
        ) : (
          <MetricEditor id={id} datasource={datasource} query={query} onChange={change} />
        )}
        <OptionsRow id={id} query={query} onChange={change} />
      </EditorRows>
    </>
  );
}

function isRule(app: string | undefined): boolean {
  return app === CoreApp.UnifiedAlerting || app === CoreApp.CloudAlerting;
}
