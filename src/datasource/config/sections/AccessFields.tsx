import { config } from '@grafana/runtime';
import { Text } from '@grafana/ui';
import React from 'react';

import { type AuthMethod } from '../../types';
import { valueAt } from '../options';
import { isSet } from '../secrets';
import { ChoiceSetting, SwitchSetting } from '../form/ChoiceSetting';
import { Fields, Row } from '../form/Folded';
import { useForm } from '../form/Form';
import { Headers } from '../form/Headers';
import { SecretSetting } from '../form/SecretSetting';
import { TextSetting } from '../form/TextSetting';
import { METHODS, SOCKS } from './choices';

interface Props {
  /** Of the object that says how the other side is reached. */
  path: string;
  /** What the keys of its secrets begin with. */
  prefix: string;
  /** Whether a header may name a tenant. */
  tenant?: boolean;
}

/** How to identify oneself to a server or to agents, how to verify them, and what else to send. */
export function AccessFields({ path, prefix, tenant }: Props) {
  return (
    <Fields>
      <AuthFields path={path} prefix={prefix} />
      <Headers path={`${path}.headers`} prefix={prefix} tenant={tenant} />
      <TlsFields path={path} prefix={prefix} />
      <ProxyField path={path} />
    </Fields>
  );
}

/** The method, and what it needs. */
export function AuthFields({ path, prefix }: Omit<Props, 'tenant'>) {
  const { options } = useForm();
  const method = (valueAt(options, `${path}.auth`) as AuthMethod | undefined) ?? 'none';
  const missing = (name: string, what: string) =>
    isSet(options, prefix + name) ? undefined : `Enter the ${what}, or choose no authentication.`;
  return (
    <>
      <ChoiceSetting path={`${path}.auth`} label="Authentication" choices={METHODS} />
      {method === 'basic' && (
        <Row>
          <TextSetting
            path={`${path}.user`}
            label="User"
            width={30}
            required
            check={(text) => (text ? undefined : 'Write the user: basic authentication needs one.')}
          />
          <SecretSetting
            secret={`${prefix}password`}
            label="Password"
            required
            problem={missing('password', 'password')}
          />
        </Row>
      )}
      {method === 'bearer' && (
        <SecretSetting secret={`${prefix}token`} label="Token" required problem={missing('token', 'token')} />
      )}
    </>
  );
}

function TlsFields({ path, prefix }: Omit<Props, 'tenant'>) {
  const { options } = useForm();
  const [certificate, key] = [`${prefix}tlsClientCert`, `${prefix}tlsClientKey`];
  const [hasCertificate, hasKey] = [isSet(options, certificate), isSet(options, key)];
  return (
    <>
      <Text element="p" weight="medium">
        TLS
      </Text>
      <SecretSetting
        secret={`${prefix}caCert`}
        label="CA certificate"
        description="PEM. Of the authority that signed the server’s certificate, where the system does not know it"
        placeholder="-----BEGIN CERTIFICATE-----"
        multiline
      />
      <Row>
        <SecretSetting
          secret={certificate}
          label="Client certificate"
          description="PEM. What to show the server (mTLS)"
          placeholder="-----BEGIN CERTIFICATE-----"
          problem={hasKey && !hasCertificate ? 'Paste the certificate of the key, or remove the key.' : undefined}
          multiline
        />
        <SecretSetting
          secret={key}
          label="Client key"
          description="PEM, without a password"
          placeholder="-----BEGIN PRIVATE KEY-----"
          problem={
            hasCertificate && !hasKey ? 'Paste the key of the certificate, or remove the certificate.' : undefined
          }
          multiline
        />
      </Row>
      <TextSetting
        path={`${path}.serverName`}
        label="Server name"
        description="The name that the certificate is for, where it differs from the address"
        placeholder="Host of the address"
      />
      <SwitchSetting
        path={`${path}.tlsSkipVerify`}
        label="Skip TLS verification"
        description="Accepts any certificate, also an impostor’s. A CA certificate is the better way."
      />
    </>
  );
}

/** Grafana tells whether it has such a proxy; what is set is shown in any case. */
function ProxyField({ path }: { path: string }) {
  const { options } = useForm();
  const at = `${path}.secureSocksProxy`;
  if (!config.secureSocksDSProxyEnabled && valueAt(options, at) === undefined) {
    return null;
  }
  return (
    <ChoiceSetting
      path={at}
      label="Secure SOCKS proxy"
      description="Whether to go through the proxy that Grafana is set up with"
      choices={SOCKS}
    />
  );
}
