import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { EditorField, EditorRow } from '@grafana/plugin-ui';
import { TextArea, useStyles2 } from '@grafana/ui';
import React, { type KeyboardEvent, useState } from 'react';

import { type DataSource } from '../DataSource';
import { type GpuQuery } from '../types';
import { MACROS } from './macroHelp';
import { ScopeRow } from './ScopeRow';

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
  const [draft, setDraft] = useState<string>();
  const helpId = `${id}-macros`;

  const commit = () => {
    if (draft !== undefined && draft !== query.expr) {
      onChange({ expr: draft });
    }
    setDraft(undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      return;
    }
    event.preventDefault();
    if (draft !== undefined && draft !== query.expr) {
      commit();
    } else {
      onRunQuery();
    }
  };

  return (
    <>
      <EditorRow>
        <div className={styles.expression}>
          <EditorField label="Expression" tooltip="Runs when you leave the field or press Ctrl+Enter" width="100%">
            <TextArea
              id={`${id}-expr`}
              className={styles.code}
              rows={3}
              spellCheck={false}
              aria-describedby={helpId}
              value={draft ?? query.expr ?? ''}
              placeholder="max by (node, gpu) (DCGM_FI_DEV_POWER_USAGE{$__gpu_filter})"
              onChange={(event) => setDraft(event.currentTarget.value)}
              onBlur={commit}
              onKeyDown={onKeyDown}
            />
          </EditorField>
          <details className={styles.help} id={helpId}>
            <summary>Macros</summary>
            <dl>
              {MACROS.map(({ name, meaning }) => (
                <React.Fragment key={name}>
                  <dt>
                    <code>{name}</code>
                  </dt>
                  <dd>{meaning}</dd>
                </React.Fragment>
              ))}
            </dl>
          </details>
        </div>
      </EditorRow>
      <ScopeRow id={id} datasource={datasource} query={query} onChange={onChange} />
    </>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  expression: css({ flexGrow: 1, minWidth: theme.spacing(40) }),
  code: css({ fontFamily: theme.typography.fontFamilyMonospace, fontSize: theme.typography.code.fontSize }),
  help: css({
    marginTop: theme.spacing(1),
    color: theme.colors.text.secondary,
    fontSize: theme.typography.bodySmall.fontSize,
    summary: { cursor: 'pointer' },
    dl: {
      display: 'grid',
      gridTemplateColumns: 'max-content 1fr',
      gap: theme.spacing(0.5, 1),
      margin: theme.spacing(0.5, 0, 0),
    },
    dd: { margin: 0 },
  }),
});
