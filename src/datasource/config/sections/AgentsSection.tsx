import { ConfigSection } from '@grafana/plugin-ui';
import { Alert } from '@grafana/ui';
import React from 'react';

import { type AgentSettings } from '../../types';
import { allowProblem } from '../checks/network';
import { ChoiceSetting } from '../form/ChoiceSetting';
import { Fields, Folded } from '../form/Folded';
import { useForm } from '../form/Form';
import { LinesSetting } from '../form/LinesSetting';
import { BytesSetting } from '../form/NumberSetting';
import { clustersOf } from '../options';
import { AGENT_SECRETS } from '../secrets';
import { AccessFields } from './AccessFields';
import { AgentGroups } from './AgentGroups';
import { AgentLists } from './AgentLists';
import { DISCOVERIES, SCHEMES } from './choices';

/** Where live samples come from: how agents are found, which may be dialled, and how. */
export function AgentsSection() {
  const { options } = useForm();
  const agents = options.jsonData.agents ?? {};
  const listed = hasLists(agents);
  const discovery = agents.discovery ?? (listed ? 'static' : 'prometheus');
  return (
    <ConfigSection
      title="Agents"
      description="Live samples come from here. Only Grafana’s server connects to agents, never a browser."
      isCollapsible
      isInitiallyOpen={false}
    >
      <Fields>
        <ChoiceSetting
          path="agents.discovery"
          label="Discovery"
          choices={DISCOVERIES}
          standard={discovery}
          problem={discoveryProblem(discovery, listed, clustersOf(options).length > 0)}
        />
        {discovery !== 'off' && (
          <>
            <LinesSetting
              path="agents.allow"
              label="Allow-list"
              description="Which hosts may be dialled: names, *.domain, addresses and networks, one a line"
              placeholder={'*.gpu.example.com\n10.0.0.0/8'}
              check={allowProblem}
            />
            {!agents.allow?.length && (
              <Alert severity="info" title="No agent will be dialled">
                Add the hosts or the network of your GPU nodes to see live samples. History does not need them.
              </Alert>
            )}
            <AgentLists />
            <Access />
            <BytesSetting
              path="agents.maxBytes"
              label="Memory for samples"
              description="Of the last minutes, of all agents together; 16 MiB to 64 GiB"
              also={0}
            />
          </>
        )}
      </Fields>
    </ConfigSection>
  );
}

function Access() {
  return (
    <>
      <Folded title="Authentication, TLS and headers of agents" description="Of all that are in no group">
        <ChoiceSetting
          path="agents.scheme"
          label="Scheme"
          description="Where discovery does not say"
          choices={SCHEMES}
        />
        <AccessFields path="agents" prefix={AGENT_SECRETS} />
      </Folded>
      <Folded title="Groups of agents" description="Reached with credentials and TLS of their own">
        <AgentGroups />
      </Folded>
    </>
  );
}

function hasLists({ static: list, dns, files }: AgentSettings): boolean {
  return [list, dns, files].some((entries) => entries?.length);
}

function discoveryProblem(discovery: string, listed: boolean, hasClusters: boolean): string | undefined {
  if (discovery === 'static' && !listed) {
    return 'List agents below, or choose By Prometheus.';
  }
  if (discovery === 'off' && !hasClusters) {
    return 'There is nothing to read: add a cluster, or list agents.';
  }
  return undefined;
}
