import { ConfigSection, ConfigSubSection } from '@grafana/plugin-ui';
import { Alert, Field, RadioButtonGroup, Stack, TagsInput } from '@grafana/ui';
import React from 'react';

import { type AgentSettings, type Discovery } from '../types';
import { AuthFields } from './AuthFields';
import { AGENT_SECRETS, clustersOf, type Options, withAgents } from './options';
import { StaticAgents } from './StaticAgents';

const DISCOVERIES: Array<{ value: Discovery; label: string; description: string }> = [
  { value: 'prometheus', label: 'By Prometheus', description: 'Agents that the clusters’ servers scrape' },
  { value: 'static', label: 'Listed here', description: 'Agents written below' },
  { value: 'off', label: 'Off', description: 'No live samples' },
];

const SCHEMES: Array<{ value: 'http' | 'https'; label: string }> = [
  { value: 'http', label: 'HTTP' },
  { value: 'https', label: 'HTTPS' },
];

interface Props {
  options: Options;
  onOptionsChange: (options: Options) => void;
}

/** Where live samples come from: how agents are found, which may be dialled, and how. */
export function AgentsSection({ options, onOptionsChange }: Props) {
  const agents = options.jsonData.agents ?? {};
  const listed = [agents.static, agents.dns, agents.files].some((list) => list?.length);
  const discovery = agents.discovery ?? (listed ? 'static' : 'prometheus');
  const allow = agents.allow ?? [];
  const disabled = options.readOnly;
  const change = (part: Partial<AgentSettings>) => onOptionsChange(withAgents(options, part));

  return (
    <ConfigSection
      title="Agents"
      description="Live samples come from here. Only Grafana’s server connects to agents, never a browser."
    >
      <Stack direction="column" gap={2}>
        <Field label="Discovery" disabled={disabled} noMargin>
          <RadioButtonGroup
            id="agents_discovery"
            aria-label="Discovery"
            options={DISCOVERIES}
            value={discovery}
            disabled={disabled}
            onChange={(value) => change({ discovery: value })}
          />
        </Field>
        {discovery === 'static' && (
          <StaticAgents
            agents={agents.static ?? []}
            defaultCluster={clustersOf(options)[0]?.name ?? ''}
            disabled={disabled}
            onChange={(list) => change({ static: list })}
          />
        )}
        {discovery !== 'off' && (
          <>
            <Field
              label="Allow-list"
              description="Names, *.domain, addresses and networks that may be dialled, such as *.gpu.example.com or 10.0.0.0/8"
              htmlFor="agents_allow"
              disabled={disabled}
              noMargin
            >
              <TagsInput
                id="agents_allow"
                tags={allow}
                disabled={disabled}
                placeholder="Type a host or network and press Enter"
                onChange={(tags) => change({ allow: tags })}
              />
            </Field>
            {allow.length === 0 && (
              <Alert severity="warning" title="No agent will be dialled">
                The allow-list is empty. Add the hosts or the network of your GPU nodes to see live samples.
              </Alert>
            )}
            <Field label="Scheme" description="Where discovery does not say" disabled={disabled} noMargin>
              <RadioButtonGroup
                id="agents_scheme"
                aria-label="Scheme"
                options={SCHEMES}
                value={agents.scheme ?? 'http'}
                disabled={disabled}
                onChange={(scheme) => change({ scheme })}
              />
            </Field>
            <ConfigSubSection title="Authentication and TLS of agents" isCollapsible isInitiallyOpen={false}>
              <AuthFields
                prefix={AGENT_SECRETS}
                access={agents}
                onChange={change}
                options={options}
                onOptionsChange={onOptionsChange}
              />
            </ConfigSubSection>
          </>
        )}
      </Stack>
    </ConfigSection>
  );
}
