import { Field, Input, RadioButtonGroup, Stack, Switch } from '@grafana/ui';
import React from 'react';

import { type AuthMethod } from '../types';
import { type Options } from './options';
import { SecretField } from './SecretField';

const METHODS: Array<{ value: AuthMethod; label: string }> = [
  { value: 'none', label: 'None' },
  { value: 'basic', label: 'Basic' },
  { value: 'bearer', label: 'Bearer token' },
];

/** What endpoints and agents have in common. */
interface Access {
  auth?: AuthMethod;
  user?: string;
  tlsSkipVerify?: boolean;
  serverName?: string;
}

interface Props {
  /** Prefix of the ids and of the secrets. */
  prefix: string;
  access: Access;
  onChange: (change: Partial<Access>) => void;
  options: Options;
  onOptionsChange: (options: Options) => void;
}

/** How to identify oneself to a server, and how to verify it. */
export function AuthFields({ prefix, access, onChange, options, onOptionsChange }: Props) {
  const method = access.auth ?? 'none';
  const secrets = { options, onOptionsChange };
  const disabled = options.readOnly;

  return (
    <Stack direction="column" gap={2}>
      <Field label="Authentication" disabled={disabled} noMargin>
        <RadioButtonGroup
          id={`${prefix}auth`}
          aria-label="Authentication"
          options={METHODS}
          value={method}
          disabled={disabled}
          onChange={(auth) => onChange({ auth })}
        />
      </Field>
      {method === 'basic' && (
        <>
          <Field label="User" htmlFor={`${prefix}user`} disabled={disabled} noMargin>
            <Input
              id={`${prefix}user`}
              value={access.user ?? ''}
              autoComplete="off"
              onChange={(event) => onChange({ user: event.currentTarget.value })}
            />
          </Field>
          <SecretField label="Password" secret={`${prefix}password`} {...secrets} />
        </>
      )}
      {method === 'bearer' && <SecretField label="Token" secret={`${prefix}token`} {...secrets} />}
      <SecretField
        label="CA certificate"
        description="For a server whose certificate the system’s authorities do not know"
        placeholder="-----BEGIN CERTIFICATE-----"
        secret={`${prefix}caCert`}
        multiline
        {...secrets}
      />
      <Field
        label="Server name"
        description="The name in the server’s certificate, where it differs from the address"
        htmlFor={`${prefix}serverName`}
        disabled={disabled}
        noMargin
      >
        <Input
          id={`${prefix}serverName`}
          value={access.serverName ?? ''}
          onChange={(event) => onChange({ serverName: event.currentTarget.value })}
        />
      </Field>
      <Field
        label="Skip TLS verification"
        description="Accepts any certificate, also that of an impostor. A CA certificate is the better way."
        htmlFor={`${prefix}tlsSkipVerify`}
        disabled={disabled}
        noMargin
      >
        <Switch
          id={`${prefix}tlsSkipVerify`}
          value={access.tlsSkipVerify ?? false}
          onChange={(event) => onChange({ tlsSkipVerify: event.currentTarget.checked })}
        />
      </Field>
    </Stack>
  );
}
