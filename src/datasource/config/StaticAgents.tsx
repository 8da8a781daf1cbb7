import { Button, Field, Input, Stack } from '@grafana/ui';
import React from 'react';

import { type StaticAgentSettings } from '../types';

interface Props {
  agents: StaticAgentSettings[];
  /** What a new agent's cluster starts as. */
  defaultCluster: string;
  disabled: boolean | undefined;
  onChange: (agents: StaticAgentSettings[]) => void;
}

/** Agents written into the settings, for networks without Prometheus. */
export function StaticAgents({ agents, defaultCluster, disabled, onChange }: Props) {
  const change = (index: number, part: Partial<StaticAgentSettings>) =>
    onChange(agents.map((agent, i) => (i === index ? { ...agent, ...part } : agent)));

  return (
    <Stack direction="column" gap={1}>
      {agents.map((agent, index) => (
        <Stack key={index} direction="row" alignItems="flex-end" gap={1}>
          <Field label="Cluster" htmlFor={`agent-${index}-cluster`} disabled={disabled} noMargin>
            <Input
              id={`agent-${index}-cluster`}
              value={agent.cluster}
              width={20}
              onChange={(event) => change(index, { cluster: event.currentTarget.value })}
            />
          </Field>
          <Field label="Address" htmlFor={`agent-${index}-address`} disabled={disabled} noMargin>
            <Input
              id={`agent-${index}-address`}
              value={agent.address}
              width={40}
              placeholder="gpu-1.example.com:9847"
              onChange={(event) => change(index, { address: event.currentTarget.value })}
            />
          </Field>
          <Button
            variant="secondary"
            icon="trash-alt"
            disabled={disabled}
            aria-label={`Remove agent ${agent.address || index + 1}`}
            onClick={() => onChange(agents.filter((_, i) => i !== index))}
          />
        </Stack>
      ))}
      <div>
        <Button
          variant="secondary"
          icon="plus"
          disabled={disabled}
          onClick={() => onChange([...agents, { cluster: defaultCluster, address: '' }])}
        >
          Add agent
        </Button>
      </div>
    </Stack>
  );
}
