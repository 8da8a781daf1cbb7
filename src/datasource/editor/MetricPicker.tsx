import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { EditorField } from '@grafana/plugin-ui';
import { Combobox, useStyles2 } from '@grafana/ui';
import React, { useMemo } from 'react';

import { type Metric } from '../types';
import { metricOptions, unitLabel } from './metricOptions';
import { type Answer } from '../../shared/useAnswer';

interface Props {
  id: string;
  catalogue: Answer<Metric[]>;
  value: string;
  onChange: (metric: string) => void;
}

/** Chooses a metric by its family and says what it means, in which unit, and where it misleads. */
export function MetricPicker({ id, catalogue, value, onChange }: Props) {
  const styles = useStyles2(getStyles);
  const options = useMemo(() => metricOptions(catalogue.value ?? []), [catalogue.value]);
  const metric = catalogue.value?.find(({ name }) => name === value);

  return (
    <div>
      <EditorField
        label="Metric"
        width={50}
        error={catalogue.error && `The list of metrics is not available: ${catalogue.error}`}
        invalid={Boolean(catalogue.error)}
      >
        <Combobox
          id={id}
          options={options}
          value={value || null}
          loading={catalogue.loading}
          placeholder="Choose a metric"
          createCustomValue
          onChange={(option) => onChange(option.value)}
        />
      </EditorField>
      {metric && (
        <dl className={styles.meaning} aria-label={`About ${metric.name}`}>
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
      )}
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  meaning: css({
    display: 'grid',
    gridTemplateColumns: 'max-content 1fr',
    columnGap: theme.spacing(1),
    margin: theme.spacing(1, 0, 0),
    maxWidth: theme.spacing(90),
    color: theme.colors.text.secondary,
    fontSize: theme.typography.bodySmall.fontSize,
    dt: { fontWeight: theme.typography.fontWeightMedium },
    dd: { margin: 0 },
  }),
});
