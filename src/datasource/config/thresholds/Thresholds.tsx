import { Field, IconButton, Input } from '@grafana/ui';
import React from 'react';

import { Fields, Row } from '../form/Folded';
import { useSetting } from '../form/Form';
import { JsonSetting } from '../form/JsonSetting';
import { NewThreshold } from './NewThreshold';
import { limitsOf, standardOf, type Threshold, thresholdsOf, unitOf, withThreshold } from './table';

const PATH = 'insight.limits';

/** The limits that differ from their defaults, and a way to add one. */
export function Thresholds() {
  const { value, set, disabled } = useSetting<unknown>(PATH);
  const limits = limitsOf(value);
  if (!limits) {
    return (
      <JsonSetting
        path={PATH}
        label="Limits"
        description="For each judgement the limits that differ from its defaults"
        placeholder='{"health": {"marginCelsius": 8}}'
        check={(text) => (limitsOf(text) ? undefined : 'This is not an object in JSON: write {"health": {…}}.')}
      />
    );
  }
  const put = (judgement: string, steps: string[], next: number | string | undefined) => {
    const changed = withThreshold(limits, judgement, steps, next);
    set(Object.keys(changed).length > 0 ? changed : undefined);
  };
  return (
    <div data-setting={PATH}>
      <Fields>
        {thresholdsOf(limits).map((threshold) => (
          <ThresholdRow
            key={idOf(threshold)}
            threshold={threshold}
            disabled={disabled}
            onValue={(next) => put(threshold.judgement, threshold.steps, next)}
          />
        ))}
        <NewThreshold disabled={disabled} onAdd={put} />
      </Fields>
    </div>
  );
}

interface RowProps {
  threshold: Threshold;
  disabled: boolean;
  onValue: (value: number | string | undefined) => void;
}

function ThresholdRow({ threshold, disabled, onValue }: RowProps) {
  const { judgement, steps, value } = threshold;
  const name = steps[steps.length - 1];
  const standard = standardOf(judgement, name);
  const id = idOf(threshold);
  return (
    <Row>
      <Field
        label={titleOf(threshold)}
        description={standard === undefined ? undefined : `Default ${standard}`}
        htmlFor={id}
        disabled={disabled}
        noMargin
      >
        <Input
          id={id}
          type={typeof value === 'number' ? 'number' : 'text'}
          step="any"
          width={20}
          suffix={unitOf(name)}
          value={value}
          onChange={({ currentTarget }) => {
            if (typeof value === 'string') {
              onValue(currentTarget.value);
            } else if (currentTarget.value !== '') {
              onValue(Number(currentTarget.value));
            }
          }}
        />
      </Field>
      <IconButton
        name="trash-alt"
        disabled={disabled}
        aria-label={`Remove threshold ${titleOf(threshold)}`}
        onClick={() => onValue(undefined)}
      />
    </Row>
  );
}

function idOf({ judgement, steps }: Threshold): string {
  return [PATH, judgement, ...steps].join('.');
}

function titleOf({ judgement, steps }: Threshold): string {
  const of = steps.length === 3 ? ` of ${steps[1]}` : '';
  return `${judgement}: ${steps[steps.length - 1]}${of}`;
}
