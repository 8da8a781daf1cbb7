import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import React from 'react';

import { type Metric } from '../types';
import { unitLabel } from './metricOptions';

/** What a metric means, in which unit it is shown, where it misleads, and what nvidia-smi calls it. */
export function MetricMeaning({ metric }: { metric: Metric }) {
  const styles = useStyles2(getStyles);
  return (
    <dl className={styles.list} aria-label={`About ${metric.name}`}>
      <dt>Meaning</dt>
      <dd>{metric.help}</dd>
      <dt>Unit</dt>
      <dd>
        {unitLabel(metric)}
        {metric.kind === 'counter' && ' (rate of a counter)'}
      </dd>
      {metric.caveat && (
        <>
          <dt>Caveat</dt>
          <dd>{metric.caveat}</dd>
        </>
      )}
      {metric.nvidiaSmi && (
        <>
          <dt>nvidia-smi</dt>
          <dd>
            <code>{metric.nvidiaSmi}</code>
          </dd>
        </>
      )}
    </dl>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  list: css({
    display: 'grid',
    gridTemplateColumns: 'max-content 1fr',
    gap: theme.spacing(0.25, 1),
    margin: 0,
    maxWidth: theme.spacing(110),
    color: theme.colors.text.secondary,
    fontSize: theme.typography.bodySmall.fontSize,
    dt: { fontWeight: theme.typography.fontWeightMedium },
    dd: { margin: 0 },
  }),
});
