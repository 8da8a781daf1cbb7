import { Field, Input } from '@grafana/ui';
import React, { useState } from 'react';

interface Props {
  id: string;
  label: string;
  value: string;
  placeholder?: string;
  width?: number;
  disabled: boolean;
  problem: string | undefined;
  onCommit: (text: string) => void;
}

/** A line of text that counts when it is left: other settings hang on it. */
export function LazyInput({ id, label, value, placeholder, width = 30, disabled, problem, onCommit }: Props) {
  const [draft, setDraft] = useState<string>();
  const isFresh = value === '' && draft === undefined;
  return (
    <Field
      label={label}
      htmlFor={id}
      disabled={disabled}
      invalid={problem !== undefined && !isFresh && !disabled}
      error={problem}
      noMargin
    >
      <Input
        id={id}
        value={draft ?? value}
        width={width}
        placeholder={placeholder}
        autoComplete="off"
        onChange={({ currentTarget }) => setDraft(currentTarget.value)}
        onBlur={() => {
          setDraft(undefined);
          if (draft !== undefined && draft !== value) {
            onCommit(draft);
          }
        }}
      />
    </Field>
  );
}
