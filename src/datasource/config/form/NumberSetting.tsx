import { Input } from '@grafana/ui';
import React, { useState } from 'react';

import { numberProblem } from '../../editor/NumberField';
import { placeholderOf, type Rule } from '../rules';
import { type FieldProps, useSetting } from './Form';
import { SettingField } from './SettingField';

interface NumberProps extends FieldProps {
  /** Shown behind the number. */
  unit?: string;
  placeholder?: string;
  width?: number;
  whole?: boolean;
  required?: boolean;
  /** A number beside those of the rule that is taken, such as 0 for off. */
  also?: number;
  /** A bound that another setting draws, instead of the rule's. */
  most?: number;
}

/** A number; empty stands for the default. What is out of bounds is kept and marked, as the backend will do, too. */
export function NumberSetting({ path, placeholder, also, whole, most, ...rest }: NumberProps) {
  const { value, rule, disabled, set } = useSetting<number>(path);
  const bounds = { ...boundsOf(rule), ...(most === undefined ? {} : { most }), whole };
  return (
    <NumberInput
      {...rest}
      path={path}
      value={value}
      disabled={disabled}
      placeholder={placeholder ?? placeholderOf(rule)}
      check={(number) => (number === also ? undefined : numberProblem(String(number), bounds))}
      onNumber={set}
    />
  );
}

const MIB = 1024 * 1024;

/** Bytes of memory, in MiB. */
export function BytesSetting({ path, also, ...rest }: Omit<NumberProps, 'unit' | 'whole' | 'most'>) {
  const { value, rule, disabled, set } = useSetting<number>(path);
  const { least, most } = boundsOf(rule);
  const bounds = { least: least && least / MIB, most: most && most / MIB };
  return (
    <NumberInput
      {...rest}
      path={path}
      unit="MiB"
      value={value === undefined ? undefined : value / MIB}
      disabled={disabled}
      placeholder={String(Number(rule.default) / MIB)}
      check={(number) => (number === also ? undefined : numberProblem(String(number), bounds))}
      onNumber={(number) => set(number === undefined ? undefined : Math.round(number * MIB))}
    />
  );
}

function boundsOf({ least, most }: Rule): { least?: number; most?: number } {
  return { least: least as number | undefined, most: most as number | undefined };
}

interface InputProps extends Omit<NumberProps, 'also' | 'whole' | 'most'> {
  value: number | undefined;
  disabled: boolean;
  check: (value: number) => string | undefined;
  onNumber: (value: number | undefined) => void;
}

function NumberInput({ path, label, description, unit, width = 16, required, disabled, ...rest }: InputProps) {
  const { value, placeholder, check, onNumber } = rest;
  const [draft, setDraft] = useState<string>();
  const text = draft ?? (value === undefined ? '' : String(value));
  const problem = problemOf(text, check, Boolean(required && draft !== undefined));

  return (
    <SettingField {...{ path, label, description, required, disabled, problem }}>
      <Input
        id={path}
        type="number"
        step="any"
        value={text}
        width={width}
        suffix={unit}
        placeholder={placeholder}
        onChange={({ currentTarget }) => {
          setDraft(currentTarget.value);
          onNumber(currentTarget.value === '' ? undefined : Number(currentTarget.value));
        }}
      />
    </SettingField>
  );
}

function problemOf(text: string, check: (value: number) => string | undefined, required: boolean) {
  if (text === '') {
    return required ? 'Write a number.' : undefined;
  }
  return check(Number(text));
}
