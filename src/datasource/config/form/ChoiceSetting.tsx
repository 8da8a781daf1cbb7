import { Field, RadioButtonGroup, Switch } from '@grafana/ui';
import React from 'react';

import { type FieldProps, useSetting } from './Form';

/** A choice; the one without a value leaves the setting out. */
export interface Choice<T> {
  value: T | undefined;
  label: string;
  description?: string;
}

interface ChoiceProps<T> extends FieldProps {
  choices: Array<Choice<T>>;
  /** What holds when nothing is set, where that is not the rule's default. */
  standard?: T;
  /** Instead of writing it to the setting. */
  onChoice?: (value: T | undefined) => void;
  problem?: string;
}

/** One of a few; the default is shown as chosen. */
export function ChoiceSetting<T extends string | boolean>(props: ChoiceProps<T>) {
  const { path, label, description, choices, standard, problem } = props;
  const { value, rule, disabled, set } = useSetting<T>(path);
  const { onChoice = set } = props;
  const current = value ?? standard ?? (rule.default as T | undefined);
  return (
    <Field
      data-setting={path}
      label={label}
      description={description}
      invalid={Boolean(problem)}
      error={problem}
      disabled={disabled}
      noMargin
    >
      <RadioButtonGroup
        id={path}
        aria-label={label}
        options={choices as Array<Choice<T> & { value: T }>}
        value={current as T}
        disabled={disabled}
        onChange={onChoice}
      />
    </Field>
  );
}

/** On or off. */
export function SwitchSetting({ path, label, description }: FieldProps) {
  const { value, disabled, set } = useSetting<boolean>(path);
  return (
    <Field data-setting={path} label={label} description={description} htmlFor={path} disabled={disabled} noMargin>
      <Switch
        id={path}
        value={value ?? false}
        onChange={({ currentTarget }) => set(currentTarget.checked || undefined)}
      />
    </Field>
  );
}
