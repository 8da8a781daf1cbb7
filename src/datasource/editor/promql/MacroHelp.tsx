import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import React from 'react';

import { MACROS } from './macros';

/** What each macro stands for. */
export function MacroHelp({ id }: { id: string }) {
  const styles = useStyles2(getStyles);
  return (
    <details className={styles.help} id={id}>
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
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
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
