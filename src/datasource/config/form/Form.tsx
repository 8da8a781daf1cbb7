import React, { createContext, type ReactNode, useContext, useMemo } from 'react';

import { type Options, valueAt, withValue } from '../options';
import { type Rule, ruleOf } from '../rules';

/** The settings page that fields write to. */
export interface Form {
  options: Options;
  /** Shows values that cannot be changed here: of a provisioned data source. */
  disabled: boolean;
  change: (options: Options) => void;
}

const FormContext = createContext<Form | undefined>(undefined);

interface Props {
  options: Options;
  onOptionsChange: (options: Options) => void;
  children: ReactNode;
}

/** Lends the options to the fields inside. */
export function FormProvider({ options, onOptionsChange, children }: Props) {
  const form = useMemo(
    () => ({ options, disabled: Boolean(options.readOnly), change: onOptionsChange }),
    [options, onOptionsChange]
  );
  return <FormContext.Provider value={form}>{children}</FormContext.Provider>;
}

export function useForm(): Form {
  const form = useContext(FormContext);
  if (!form) {
    throw new Error('Fields of the settings page belong inside of FormProvider.');
  }
  return form;
}

/** One setting of jsonData. */
export interface Setting<T> {
  value: T | undefined;
  rule: Rule;
  disabled: boolean;
  /** Undefined goes back to the default. */
  set: (value: T | undefined) => void;
}

/** The setting at a place of jsonData, such as `cache.maxBytes`. */
export function useSetting<T>(path: string): Setting<T> {
  const { options, disabled, change } = useForm();
  return {
    value: valueAt(options, path) as T | undefined,
    rule: ruleOf(path),
    disabled,
    set: (value) => change(withValue(options, path, value)),
  };
}

/** What fields have in common. The path is also the id of the input. */
export interface FieldProps {
  path: string;
  label: string;
  /** What it means, with its unit. */
  description?: string;
}
