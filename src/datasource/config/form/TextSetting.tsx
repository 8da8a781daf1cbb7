import { Input } from '@grafana/ui';
import React, { useState } from 'react';

import { durationProblem } from '../checks/duration';
import { placeholderOf } from '../rules';
import { type FieldProps, useSetting } from './Form';
import { SettingField } from './SettingField';

export interface TextProps extends FieldProps {
  /** An example; left out, it is the default. */
  placeholder?: string;
  width?: number;
  required?: boolean;
  /** What is wrong with a text. Of an empty one only for what is required. */
  check?: (text: string) => string | undefined;
  /** Instead of writing it to the setting. */
  onText?: (text: string) => void;
  /** Counts when it is left, not with every key: for what other settings hang on. */
  lazily?: boolean;
}

/** A line of text. What is missing is said once somebody has been there. */
export function TextSetting({ path, label, description, placeholder, width = 40, required, ...rest }: TextProps) {
  const { value, rule, disabled, set } = useSetting<string>(path);
  const { check, lazily, onText = (text) => set(text === '' ? undefined : text) } = rest;
  const [draft, setDraft] = useState<string>();
  const [visited, setVisited] = useState(false);
  const text = draft ?? value ?? '';
  const problem = text !== '' || (required && visited) ? check?.(text) : undefined;

  const leave = () => {
    setVisited(true);
    setDraft(undefined);
    if (draft !== undefined && draft !== (value ?? '')) {
      onText(draft);
    }
  };

  return (
    <SettingField {...{ path, label, description, required, disabled, problem }}>
      <Input
        id={path}
        value={text}
        width={width}
        placeholder={placeholder ?? placeholderOf(rule)}
        autoComplete="off"
        spellCheck={false}
        onChange={({ currentTarget }) => {
          setVisited(true);
          (lazily ? setDraft : onText)(currentTarget.value);
        }}
        onBlur={leave}
      />
    </SettingField>
  );
}

/** A duration with its unit, such as `15s`. */
export function DurationSetting({ path, ...rest }: Omit<TextProps, 'check'>) {
  const { rule } = useSetting<string>(path);
  return <TextSetting path={path} width={16} {...rest} check={(text) => durationProblem(text, rule)} />;
}
