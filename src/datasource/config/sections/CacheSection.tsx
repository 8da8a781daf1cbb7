import { ConfigSection } from '@grafana/plugin-ui';
import React from 'react';

import { hostPortProblem } from '../checks/network';
import { ChoiceSetting, SwitchSetting } from '../form/ChoiceSetting';
import { Fields, Row } from '../form/Folded';
import { useForm, useSetting } from '../form/Form';
import { LinesSetting } from '../form/LinesSetting';
import { BytesSetting, NumberSetting } from '../form/NumberSetting';
import { SecretSetting } from '../form/SecretSetting';
import { DurationSetting, TextSetting } from '../form/TextSetting';
import { withValue } from '../options';
import { withoutSecret } from '../secrets';
import { CACHES } from './choices';

/** Where answers are kept. */
export function CacheSection() {
  const { options, change } = useForm();
  const { value: type } = useSetting<string>('cache.remote.type');
  const bytes = useSetting<number>('cache.maxBytes').value;
  return (
    <ConfigSection
      title="Cache"
      description="Answers of range queries are kept in pieces, so that a refresh asks for what is new."
      isCollapsible
      isInitiallyOpen={false}
    >
      <Fields>
        <Row>
          <BytesSetting path="cache.maxBytes" label="Memory" description="1 MiB to 64 GiB; 0 for no cache" also={0} />
          <DurationSetting
            path="cache.freshness"
            label="Late samples"
            description="How late samples may reach Prometheus, 5s to 24h: what is newer is asked for with every refresh"
            placeholder="4 scrape intervals"
          />
        </Row>
        <ChoiceSetting
          path="cache.remote.type"
          label="Shared cache"
          description="One more cache behind it that several Grafana servers share"
          choices={CACHES}
          problem={type && bytes === 0 ? 'Memory is 0, which turns the cache off: change one of them.' : undefined}
          onChoice={(value) => change(value ? withValue(options, 'cache.remote.type', value) : withoutRemote())}
        />
        {type && <Remote type={type} />}
      </Fields>
    </ConfigSection>
  );

  function withoutRemote() {
    return withoutSecret(withValue(options, 'cache.remote', undefined), 'cache_password');
  }
}

function Remote({ type }: { type: string }) {
  const example = type === 'redis' ? 'cache-1:6379' : 'cache-1:11211';
  return (
    <>
      <LinesSetting
        path="cache.remote.addresses"
        label="Servers"
        description="host:port, one a line"
        placeholder={example}
        required
        check={(line) => hostPortProblem(line, example)}
      />
      {type === 'redis' && (
        <>
          <Row>
            <TextSetting path="cache.remote.user" label="User" width={30} />
            <SecretSetting secret="cache_password" label="Password" />
          </Row>
          <NumberSetting path="cache.remote.database" label="Database" description="0 to 15" whole />
        </>
      )}
      <SwitchSetting path="cache.remote.tls" label="TLS" description="Whether to speak TLS to the servers" />
      <DurationSetting path="cache.remote.timeout" label="Timeout" description="Of one operation, 10ms to 10s" />
    </>
  );
}
