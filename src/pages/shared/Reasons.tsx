import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import React from 'react';

/** What is said of something, in the order in which somebody wants to know it; what is '' is left out. */
export function Reasons({ parts }: { parts: Array<[title: string, text: string]> }) {
  const styles = useStyles2(getStyles);
  return (
    <dl className={styles.parts}>
      {parts
        .filter(([, text]) => text !== '')
        .map(([title, text]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{text}</dd>
          </div>
        ))}
    </dl>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  parts: css({
    margin: theme.spacing(1, 0),
    '& > div': { display: 'flex', gap: theme.spacing(2) },
    dt: { flex: `0 0 ${theme.spacing(22)}`, color: theme.colors.text.secondary, fontWeight: 'normal' },
    dd: { margin: 0, maxWidth: theme.spacing(110), whiteSpace: 'pre-wrap' },
  }),
});
