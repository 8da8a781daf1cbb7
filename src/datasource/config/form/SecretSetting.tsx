import { Field, Input, SecretInput, SecretTextArea } from '@grafana/ui';
import React from 'react';

import { withoutSecret, withSecret } from '../secrets';
import { useForm } from './Form';

interface Props {
  /** Key of secureJsonData; also the id of the input. */
  secret: string;
  label: string;
  description?: string;
  placeholder?: string;
  /** Several lines, as a certificate has. */
  multiline?: boolean;
  required?: boolean;
  problem?: string;
}

/** A secret: shown as configured once stored, never as text. */
export function SecretSetting({ secret, label, description, multiline, required, problem, placeholder }: Props) {
  const { options, disabled, change } = useForm();
  const isConfigured = Boolean(options.secureJsonFields?.[secret]);
  const shared = {
    id: secret,
    placeholder,
    width: 40,
    isConfigured,
    disabled,
    value: options.secureJsonData?.[secret] ?? '',
    onReset: () => change(withoutSecret(options, secret)),
  };
  const type = (text: string) => change(withSecret(options, secret, text));
  return (
    <Field
      data-setting={secret}
      label={label}
      description={description}
      htmlFor={secret}
      required={required}
      invalid={Boolean(problem)}
      error={problem}
      disabled={disabled}
      noMargin
    >
      {secretInput()}
    </Field>
  );

  function secretInput() {
    if (disabled) {
      // Nothing to reset: the provisioning file sets it.
      return <Input id={secret} width={40} value={isConfigured ? 'configured' : ''} placeholder="not set" readOnly />;
    }
    if (multiline) {
      const { width: _, ...area } = shared;
      return (
        <SecretTextArea {...area} rows={4} cols={50} onChange={({ currentTarget }) => type(currentTarget.value)} />
      );
    }
    return (
      <SecretInput
        {...shared}
        autoComplete="new-password"
        onChange={({ currentTarget }) => type(currentTarget.value)}
      />
    );
  }
}
