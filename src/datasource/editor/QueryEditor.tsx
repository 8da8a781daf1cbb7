import { css } from '@emotion/css';
import { CoreApp, type GrafanaTheme2, type QueryEditorProps } from '@grafana/data';
import { EditorField, EditorHeader, EditorRows, RunQueryButton, Space } from '@grafana/plugin-ui';
import { Alert, Combobox, type ComboboxOption, useStyles2 } from '@grafana/ui';
import React, { useEffect } from 'react';

import { type DataSource } from '../DataSource';
import { isNewer, migrate } from '../migrate';
import { isComplete, ofType, queryTypeOf, SCHEMA_VERSION } from '../query';
import { isInsightType, isTableType, queryTypeInfo } from '../queryTypes';
import { type GpuQuery, type GpuSettings, type QueryType } from '../types';
import { QUERY_TYPES } from './choices';
import { ExplainView } from './ExplainView';
import { InsightEditor } from './InsightEditor';
import { MetricEditor } from './MetricEditor';
import { OptionsRow } from './OptionsRow';
import { PromqlEditor } from './PromqlEditor';
import { TableEditor } from './TableEditor';

/** Wide enough for what a type means: the list is as wide as its field. */
const TYPE_WIDTH = 52;

export type Props = QueryEditorProps<DataSource, GpuQuery, GpuSettings>;

/** The query editor: the type first, then the fields of that type. Every committed change runs the query. */
export function QueryEditor({ datasource, query: stored, onChange, onRunQuery, app, data }: Props) {
  const styles = useStyles2(getStyles);
  const query = migrate(stored);
  const queryType = queryTypeOf(query);
  const id = `warpwatch-${query.refId}`;

  useEffect(() => {
    // Without running it: it asks for the same in another form.
    if (query !== stored) {
      onChange(query);
    }
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once for what is stored, whichever function takes it
  }, [stored]);

  const change = (part: Partial<GpuQuery>) => {
    const next: GpuQuery = { ...query, schemaVersion: SCHEMA_VERSION, queryType, ...part };
    onChange(next);
    if (isComplete(next)) {
      onRunQuery();
    }
  };

  return (
    <>
      <EditorHeader>
        <EditorField label="Query type" width={TYPE_WIDTH}>
          <Combobox
            id={`${id}-type`}
            width={TYPE_WIDTH}
            options={typeOptions(queryType)}
            value={queryType}
            onChange={({ value }) => change(ofType(query, value))}
          />
        </EditorField>
        <p className={styles.meaning}>{queryTypeInfo(queryType)?.meaning}</p>
        {app !== CoreApp.Explore && (
          <RunQueryButton
            queryInvalid={!isComplete(query)}
            queryRunning={data?.state === 'Loading'}
            onClick={onRunQuery}
          />
        )}
      </EditorHeader>
      <Space v={0.5} />
      {isNewer(query) && (
        <Alert severity="warning" title="A newer version of the plugin wrote this query">
          What you change here may lose what this version does not know. Update the plugin first.
        </Alert>
      )}
      {isRule(app) && datasource.targetContainsTemplate(query) && (
        <Alert severity="warning" title="Alert rules have no dashboard variables">
          This query uses variables, which nothing replaces when the rule is evaluated. Write the values instead.
        </Alert>
      )}
      <EditorRows>
        <Fields
          id={id}
          type={queryType}
          datasource={datasource}
          query={query}
          onChange={change}
          onRunQuery={onRunQuery}
          isRule={isRule(app)}
        />
        <ExplainView datasource={datasource} query={query} data={data} />
      </EditorRows>
    </>
  );
}

interface FieldsProps {
  id: string;
  type: QueryType;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
  onRunQuery: () => void;
  isRule: boolean;
}

function Fields({ type, onRunQuery, ...props }: FieldsProps) {
  if (isTableType(type)) {
    return <TableEditor {...props} type={type} />;
  }
  if (isInsightType(type)) {
    return <InsightEditor {...props} key={type} type={type} />;
  }
  const { isRule: _, ...others } = props;
  return (
    <>
      {type === 'promql' ? <PromqlEditor {...others} onRunQuery={onRunQuery} /> : <MetricEditor {...props} />}
      <OptionsRow id={props.id} query={props.query} onChange={props.onChange} />
    </>
  );
}

/** The types there are, and the query's own when this version does not offer it. */
function typeOptions(type: QueryType): Array<ComboboxOption<QueryType>> {
  return queryTypeInfo(type)
    ? QUERY_TYPES
    : [...QUERY_TYPES, { value: type, label: type, description: 'Not known to this version' }];
}

function isRule(app: string | undefined): boolean {
  return app === CoreApp.UnifiedAlerting || app === CoreApp.CloudAlerting;
}

const getStyles = (theme: GrafanaTheme2) => ({
  meaning: css({
    // Beside the type also where there is little room, on more lines.
    flex: '1 1 0',
    minWidth: theme.spacing(20),
    alignSelf: 'flex-end',
    margin: theme.spacing(0, 0, 1),
    color: theme.colors.text.secondary,
    fontSize: theme.typography.bodySmall.fontSize,
  }),
});
