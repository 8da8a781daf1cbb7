import {
  AdvancedHttpSettings,
  Auth,
  ConfigSection,
  convertLegacyAuthProps,
  SecureSocksProxyToggle,
} from '@grafana/plugin-ui';
import { config } from '@grafana/runtime';
import React from 'react';

import { Fields } from '../form/Folded';
import { useForm } from '../form/Form';

/** Grafana's own settings, which count for every server that does not say otherwise. */
export function DefaultsSection() {
  const { options, change } = useForm();
  return (
    <ConfigSection
      title="Defaults of all servers"
      description="Authentication, TLS, headers and timeout of every endpoint that has none of its own. Agents and Alertmanagers are sent nothing of it."
      isCollapsible
      isInitiallyOpen={false}
    >
      <Fields>
        <div data-setting="oauthPassThru">
          <Auth {...convertLegacyAuthProps({ config: options, onChange: change })} />
        </div>
        <AdvancedHttpSettings config={options} onChange={change} />
        {config.secureSocksDSProxyEnabled && (
          <SecureSocksProxyToggle labelWidth={24} dataSourceConfig={options} onChange={change} />
        )}
      </Fields>
    </ConfigSection>
  );
}
