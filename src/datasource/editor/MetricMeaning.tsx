import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import React from 'react';

import { type Metric } from '../types';
import { type Availability } from './availability';
import { unitLabel } from './metricOptions';

/** What a metric means, in which unit it is shown, where it misleads, what nvidia-smi calls it, and whether it is measured here. */
export function MetricMeaning({ metric, available }: { metric: Metric; available?: Availability }) {
  const styles = useStyles2(getStyles);
  return (
    <dl className={styles.list} aria-label={`About ${metric.name}`}>
      <dt>Meaning</dt>
      <dd>{metric.help}</dd>
      <dt>Unit</dt>
      <dd>
        {unitLabel(metric)}
        {metric.kind === 'counter' && ' (rate of a counter)'}
        {metric.kind === 'histogram' && ' (of a distribution)'}
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
      {available && (
        <>
          <dt>Here</dt>
          <dd>
            {measuredText(metric, available)}
            {available.from.map((from) => (
              <React.Fragment key={from}>
                {' '}
                <code>{from}</code>
              </React.Fragment>
            ))}
          </dd>
        </>
      )}
      {available?.enable.map((line) => (
        <React.Fragment key={line}>
          <dt>To get it</dt>
          <dd>{line}</dd>
        </React.Fragment>
      ))}
    </dl>
  );
}

function measuredText({ subject }: Metric, { measured, covered, total }: Availability): string {
  const what = subject === 'workload' ? 'workloads' : 'devices';
  return measured ? `Measured on ${covered} of ${total} ${what}` : `Not measured on any of ${total} ${what}`;
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
