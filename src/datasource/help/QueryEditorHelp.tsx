import { css } from '@emotion/css';
import { type GrafanaTheme2, type QueryEditorHelpProps } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import React from 'react';

import { MacroHelp } from '../editor/promql/MacroHelp';
import { displayText } from '../query';
import { QUERY_TYPES } from '../queryTypes';
import { type GpuQuery } from '../types';
import { EXAMPLES } from './examples';

/** Shown in Explore before the first query: questions to click, the types of queries, and the macros. */
export function QueryEditorHelp({ query, onClickExample }: QueryEditorHelpProps<GpuQuery>) {
  const styles = useStyles2(getStyles);
  return (
    <div>
      <h2>Ask about your GPUs</h2>
      <div className={styles.groups}>
        {EXAMPLES.map(({ title, examples }) => (
          <section key={title} aria-label={title}>
            <h3 className={styles.title}>{title}</h3>
            {examples.map((example) => (
              <button
                key={example.question}
                type="button"
                className={styles.example}
                onClick={() => onClickExample({ ...example.query, refId: query?.refId ?? 'A' })}
              >
                <span>{example.question}</span>
                <code>{displayText({ refId: 'A', ...example.query })}</code>
              </button>
            ))}
          </section>
        ))}
      </div>
      <h3 className={styles.title}>Query types</h3>
      <dl className={styles.types}>
        {QUERY_TYPES.map(({ type, label, meaning }) => (
          <React.Fragment key={type}>
            <dt>{label}</dt>
            <dd>{meaning}</dd>
          </React.Fragment>
        ))}
      </dl>
      <MacroHelp id="warpwatch-help-macros" />
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  groups: css({
    display: 'grid',
    gridTemplateColumns: `repeat(auto-fill, minmax(${theme.spacing(44)}, 1fr))`,
    gap: theme.spacing(2),
  }),
  title: css({ margin: theme.spacing(2, 0, 1), fontSize: theme.typography.h5.fontSize }),
  example: css({
    display: 'flex',
    flexDirection: 'column',
    alignItems: 'flex-start',
    gap: theme.spacing(0.5),
    width: '100%',
    marginBottom: theme.spacing(1),
    padding: theme.spacing(1),
    border: `1px solid ${theme.colors.border.weak}`,
    borderRadius: theme.shape.radius.default,
    background: theme.colors.background.secondary,
    color: theme.colors.text.primary,
    textAlign: 'left',
    '&:hover': { background: theme.colors.emphasize(theme.colors.background.secondary, 0.03) },
    '&:focus-visible': { outline: `2px solid ${theme.colors.primary.main}`, outlineOffset: 2 },
    code: { maxWidth: '100%', overflowWrap: 'anywhere', whiteSpace: 'normal' },
  }),
  types: css({
    display: 'grid',
    gridTemplateColumns: 'max-content 1fr',
    gap: theme.spacing(0.5, 2),
    color: theme.colors.text.secondary,
    dt: { fontWeight: theme.typography.fontWeightMedium },
    dd: { margin: 0 },
  }),
});
