import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { EditorField, EditorRow, EditorSwitch } from '@grafana/plugin-ui';
import { useStyles2 } from '@grafana/ui';
import React, { useMemo } from 'react';

import { type DataSource } from '../DataSource';
import { type GpuQuery } from '../types';
import { CodeField } from './promql/CodeField';
import { Completing } from './promql/complete';
import { MacroHelp } from './promql/MacroHelp';
import { ResourceClient } from './promql/ResourceClient';
import { ScopeRow } from './ScopeRow';
import { useVariableOptions } from './useVariableOptions';

interface Props {
  id: string;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
  onRunQuery: () => void;
}

/** An expression of the user's own, asked of the chosen clusters. */
export function PromqlEditor({ id, datasource, query, onChange, onRunQuery }: Props) {
  const styles = useStyles2(getStyles);
  const variables = useVariableOptions();
  const complete = useMemo(
    () => new Completing(new ResourceClient(datasource), () => variables.map(({ value }) => value)),
    [datasource, variables]
  );
  const helpId = `${id}-macros`;

  return (
    <>
      <EditorRow>
        <div className={styles.expression}>
          <EditorField label="Expression" tooltip="Runs when you leave the field or press Ctrl+Enter" width="100%">
            <CodeField
              id={`${id}-expr`}
              label="Expression"
              describedBy={helpId}
              value={query.expr ?? ''}
              placeholder="max by (node, gpu) (DCGM_FI_DEV_POWER_USAGE{$__gpu_filter})"
              complete={complete}
              onCommit={(expr) => onChange({ expr })}
              onRun={onRunQuery}
            />
          </EditorField>
          <MacroHelp id={helpId} />
        </div>
        <EditorField
          label="Add scope"
          tooltip="Adds the scope below to the selectors of an expression that has no $__gpu_filter"
        >
          <EditorSwitch
            id={`${id}-inject`}
            value={query.injectScope ?? false}
            onChange={(event) => onChange({ injectScope: event.currentTarget.checked })}
          />
        </EditorField>
        <EditorField label="Exemplars" tooltip="Time series panels draw them over the lines">
          <EditorSwitch
            id={`${id}-exemplars`}
            value={query.exemplars ?? false}
            disabled={query.instant}
            onChange={(event) => onChange({ exemplars: event.currentTarget.checked })}
          />
        </EditorField>
      </EditorRow>
      <ScopeRow id={id} datasource={datasource} query={query} onChange={onChange} />
    </>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  expression: css({ flexGrow: 1, flexBasis: 0, minWidth: theme.spacing(40) }),
});
