import { EditorField } from '@grafana/plugin-ui';
import { Combobox } from '@grafana/ui';
import React, { useMemo } from 'react';

import { type Answer } from '../../shared/useAnswer';
import { type Metric } from '../types';
import { type Availability } from './availability';
import { metricOptions } from './metricOptions';

interface Props {
  id: string;
  catalogue: Answer<Metric[]>;
  available?: Map<string, Availability>;
  label?: string;
  value: string;
  onChange: (metric: string) => void;
}

/** Chooses a metric by its family. */
export function MetricPicker({ id, catalogue, available, label = 'Metric', value, onChange }: Props) {
  const options = useMemo(() => metricOptions(catalogue.value ?? [], available), [catalogue.value, available]);

  return (
    <EditorField
      label={label}
      width={50}
      error={catalogue.error && `The list of metrics is not available: ${catalogue.error}`}
      invalid={Boolean(catalogue.error)}
    >
      <Combobox
        id={id}
        width={50}
        options={options}
        value={value || null}
        placeholder={catalogue.loading ? 'Loading…' : 'Choose a metric'}
        createCustomValue
        onChange={(option) => onChange(option.value)}
      />
    </EditorField>
  );
}
