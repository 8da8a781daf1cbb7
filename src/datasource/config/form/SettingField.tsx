import { Field } from '@grafana/ui';
import React, { type ReactElement } from 'react';

import { type FieldProps } from './Form';

interface Props extends FieldProps {
  required?: boolean;
  disabled: boolean;
  /** What is wrong with the value; not said of what cannot be changed here. */
  problem?: string;
  children: ReactElement;
}

/** The frame of every input that writes one setting. */
export function SettingField({ path, label, description, required, disabled, problem, children }: Props) {
  const error = disabled ? undefined : problem;
  return (
    <Field
      data-setting={path}
      label={label}
      description={description}
      htmlFor={path}
      required={required}
      invalid={Boolean(error)}
      error={error}
      disabled={disabled}
      noMargin
    >
      {children}
    </Field>
  );
}
