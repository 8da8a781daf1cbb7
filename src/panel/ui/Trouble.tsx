import { css } from '@emotion/css';
import { type GrafanaTheme2, LoadingState, type PanelData } from '@grafana/data';
import { LoadingPlaceholder, useStyles2 } from '@grafana/ui';
import React from 'react';

import { messageOf } from '../../shared/messageOf';

/** Why there is nothing to draw, and what to do about it. */
export interface Trouble {
  kind: 'loading' | 'denied' | 'error' | 'empty';
  title: string;
  texts: string[];
}

const DENIED = new Set([401, 403]);

/** What keeps data from being drawn; undefined when it names any GPU. */
export function troubleOf(data: PanelData, cells: number): Trouble | undefined {
  if (cells > 0) {
    return undefined;
  }
  const errors = data.errors ?? [];
  if (errors.some(({ status }) => DENIED.has(status ?? 0))) {
    const texts = ['Ask an administrator for the right to query this data source.'];
    return { kind: 'denied', title: 'You may not see these GPUs', texts };
  }
  if (errors.length > 0) {
    return { kind: 'error', title: 'The GPUs could not be read', texts: Array.from(new Set(errors.map(messageOf))) };
  }
  if (data.state === LoadingState.Loading || data.state === LoadingState.NotStarted) {
    return { kind: 'loading', title: 'Loading GPUs', texts: [] };
  }
  return { kind: 'empty', title: 'No GPU to show', texts: whyEmpty(data) };
}

function whyEmpty({ series }: PanelData): string[] {
  const notices = Array.from(new Set(series.flatMap(({ meta }) => (meta?.notices ?? []).map(({ text }) => text))));
  if (notices.length > 0) {
    return notices;
  }
  return series.some(({ length }) => length > 0)
    ? [
        'The data names no GPU. Use a Metric query with the format Matrix, a table with the columns node and gpu, or time series with such labels.',
      ]
    : ['The query found nothing. Widen its scope or its time range.'];
}

/** What the data source says of incomplete answers. */
export function noticesOf(series: PanelData['series']): string[] {
  const notices = series.flatMap((frame) => frame.meta?.notices ?? []);
  return Array.from(new Set(notices.filter(({ severity }) => severity !== 'info').map(({ text }) => text)));
}

export function TroubleView({ trouble: { kind, title, texts } }: { trouble: Trouble }) {
  const styles = useStyles2(getStyles);
  if (kind === 'loading') {
    return (
      <div className={styles.box} role="status">
        <LoadingPlaceholder text={`${title}…`} />
      </div>
    );
  }
  return (
    <div className={styles.box} role={kind === 'error' ? 'alert' : 'status'}>
      <strong>{title}</strong>
      {texts.map((text) => (
        <span key={text} className={styles.text}>
          {text}
        </span>
      ))}
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  box: css({
    display: 'flex',
    flexDirection: 'column',
    alignItems: 'center',
    justifyContent: 'center',
    gap: theme.spacing(1),
    height: '100%',
    padding: theme.spacing(2),
    overflow: 'auto',
    textAlign: 'center',
  }),
  text: css({ color: theme.colors.text.secondary, maxWidth: 640, overflowWrap: 'anywhere' }),
});
