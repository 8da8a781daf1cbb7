import { Field, SecretInput, SecretTextArea } from '@grafana/ui';
import React from 'react';

import { type Options, withoutSecret, withSecret } from './options';

interface Props {
  label: string;
  description?: string;
  placeholder?: string;
  /** Key of secureJsonData; also the id of the input. */
  secret: string;
  options: Options;
  onOptionsChange: (options: Options) => void;
  /** Several lines, as a certificate has. */
  multiline?: boolean;
}

/** A secret: shown as set once stored, never as text. */
export function SecretField({ label, description, placeholder, secret, options, onOptionsChange, multiline }: Props) {
  const shared = {
    id: secret,
    placeholder,
    isConfigured: Boolean(options.secureJsonFields?.[secret]),
    value: options.secureJsonData?.[secret] ?? '',
    onReset: () => onOptionsChange(withoutSecret(options, secret)),
  };
  return (
    <Field label={label} description={description} htmlFor={secret} disabled={options.readOnly} noMargin>
      {multiline ? (
        <SecretTextArea
          {...shared}
          rows={4}
          disabled={options.readOnly}
          onChange={(event) => onOptionsChange(withSecret(options, secret, event.currentTarget.value))}
        />
      ) : (
        <SecretInput
          {...shared}
          disabled={options.readOnly}
          onChange={(event) => onOptionsChange(withSecret(options, secret, event.currentTarget.value))}
        />
      )}
    </Field>
  );
}
