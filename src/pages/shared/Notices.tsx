import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Alert, Icon, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type Notice } from '../../datasource/types';

/** What is to be known of an answer: that it is partial, old or of fewer than there are. Failures stand out; the rest opens. */
export function Notices({ notices }: { notices: Notice[] }) {
  const styles = useStyles2(getStyles);
  const errors = notices.filter(({ severity }) => severity === 'error');
  const warnings = notices.filter(({ severity }) => severity === 'warning');
  const notes = notices.filter(({ severity }) => severity !== 'error' && severity !== 'warning');
  return (
    <>
      {errors.map(({ text }) => (
        <Alert key={text} severity="error" title="Not everything was answered">
          {text}
        </Alert>
      ))}
      {warnings.length + notes.length > 0 && (
        <details className={styles.details}>
          <summary className={warnings.length > 0 ? styles.warning : undefined}>
            {warnings.length > 0 && <Icon name="exclamation-triangle" />} {summaryOf(warnings.length, notes.length)}
          </summary>
          <ul className={styles.list} aria-label="Notices">
            {[...warnings, ...notes].map(({ severity, text }) => (
              <li key={text}>
                <Icon name={severity === 'warning' ? 'exclamation-triangle' : 'info-circle'} size="sm" /> {text}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function summaryOf(warnings: number, notes: number): string {
  const counted = (count: number, word: string) => (count === 0 ? [] : [`${count} ${word}${count === 1 ? '' : 's'}`]);
  const all = [...counted(warnings, 'warning'), ...counted(notes, 'note')].join(' and ');
  return warnings > 0 ? `The answer is partial or doubtful: ${all}` : `About this answer: ${all}`;
}

const getStyles = (theme: GrafanaTheme2) => ({
  details: css({ marginBottom: theme.spacing(1), color: theme.colors.text.secondary }),
  warning: css({ color: theme.colors.warning.text }),
  list: css({
    listStyle: 'none',
    maxWidth: theme.spacing(140),
    margin: theme.spacing(0.5, 0, 1, 2),
    fontSize: theme.typography.bodySmall.fontSize,
  }),
});
