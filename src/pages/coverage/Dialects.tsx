import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Text, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type Row, textOf } from '../shared/rows';

const STATUSES = ['ok', 'partial', 'doubtful', 'missing'];

/** For each cluster what its exporters speak, and how much of the catalogue that covers. */
export function Dialects({ rows }: { rows: Row[] }) {
  const styles = useStyles2(getStyles);
  const clusters = [...new Set(rows.map((row) => textOf(row, 'cluster')))];
  if (clusters.length === 0) {
    return <Text color="secondary">Nothing is known of what Prometheus scrapes here.</Text>;
  }
  return (
    <ul className={styles.list}>
      {clusters.map((cluster) => {
        const own = rows.filter((row) => textOf(row, 'cluster') === cluster);
        const dialects = [...new Set(own.map((row) => textOf(row, 'dialect')).filter(Boolean))];
        return (
          <li key={cluster}>
            <Text weight="medium">{cluster || 'No cluster'}</Text>:{' '}
            {dialects.length > 0 ? dialects.join(', ') : 'no exporter that is known'} – {countsOf(own)}
          </li>
        );
      })}
    </ul>
  );
}

function countsOf(rows: Row[]): string {
  const metricsOf = (status: string) =>
    new Set(rows.filter((row) => textOf(row, 'status') === status).map((row) => textOf(row, 'metric'))).size;
  return STATUSES.map((status) => `${metricsOf(status)} ${status}`).join(', ');
}

const getStyles = (theme: GrafanaTheme2) => ({ list: css({ paddingLeft: theme.spacing(2.5) }) });
