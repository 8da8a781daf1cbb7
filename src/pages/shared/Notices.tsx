import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Alert, Icon, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type Notice } from '../../datasource/types';

/** What is to be known of an answer: that it is partial, old or of fewer than there are. */
export function Notices({ notices }: { notices: Notice[] }) {
  const styles = useStyles2(getStyles);
  const grave = notices.filter(({ severity }) => severity !== 'info');
  const rest = notices.filter(({ severity }) => severity === 'info');
  return (
    <>
      {grave.map(({ severity, text }) => (
        <Alert key={text} severity={severity} title={severity === 'error' ? 'Not everything was answered' : 'Partial'}>
          {text}
        </Alert>
      ))}
      {rest.length > 0 && (
        <ul className={styles.list} aria-label="Notes">
          {rest.map(({ text }) => (
            <li key={text}>
              <Icon name="info-circle" size="sm" /> {text}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  list: css({
    listStyle: 'none',
    margin: theme.spacing(0, 0, 1, 0),
    color: theme.colors.text.secondary,
    fontSize: theme.typography.bodySmall.fontSize,
  }),
});
