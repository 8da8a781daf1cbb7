import { type DataSourceInstanceSettings } from '@grafana/data';
import { Alert, Badge, LinkButton, LoadingPlaceholder, Stack, Text } from '@grafana/ui';
import React, { useCallback } from 'react';

import { settingsPath } from '../../shared/dataSources';
import { type Answer, useAnswer } from '../../shared/useAnswer';
import { type AgentStatus } from '../../datasource/types';
import { AgentsTable } from './AgentsTable';
import { fetchAgents, fetchHealth, type Health } from './api';

/** One data source: its Prometheus side by its health check, its live side agent by agent. */
export function SourceStatus({ source }: { source: DataSourceInstanceSettings }) {
  const health = useAnswer(useCallback(() => fetchHealth(source.uid), [source.uid]));
  const agents = useAnswer(useCallback(() => fetchAgents(source.uid), [source.uid]));

  return (
    <section aria-label={`Data source ${source.name}`}>
      <Stack direction="column" gap={2}>
        <Stack direction="row" alignItems="center" gap={1}>
          <Text element="h3">{source.name}</Text>
          {health.value && (
            <Badge
              text={health.value.ok ? 'Working' : 'Needs attention'}
              icon={health.value.ok ? 'check' : 'exclamation-triangle'}
              color={health.value.ok ? 'green' : 'orange'}
            />
          )}
          <LinkButton variant="secondary" size="sm" icon="cog" href={settingsPath(source.uid)}>
            Settings
          </LinkButton>
        </Stack>
        <HealthText health={health} />
        <Agents agents={agents} />
      </Stack>
    </section>
  );
}

function HealthText({ health }: { health: Answer<Health> }) {
  if (health.error) {
    return (
      <Alert severity="error" title="The data source does not answer">
        {health.error}
      </Alert>
    );
  }
  if (!health.value) {
    return <LoadingPlaceholder text="Asking the Prometheus endpoints…" />;
  }
  const { ok, message, details } = health.value;
  const lines = details.length > 0 && (
    <ul>
      {details.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
  return ok ? (
    <div>
      <Text>{message}</Text>
      {lines}
    </div>
  ) : (
    <Alert severity="warning" title={message}>
      {lines}
    </Alert>
  );
}

function Agents({ agents }: { agents: Answer<AgentStatus[]> }) {
  if (agents.error) {
    return (
      <Alert severity="warning" title="The agents cannot be listed">
        {agents.error}
      </Alert>
    );
  }
  if (!agents.value) {
    return <LoadingPlaceholder text="Looking for agents…" />;
  }
  if (agents.value.length === 0) {
    return (
      <Alert severity="info" title="No agent is known">
        Panels show history only. Run the Warpwatch agent on the GPU nodes and let Prometheus scrape it, or list agents
        in the data source’s settings.
      </Alert>
    );
  }
  return <AgentsTable agents={agents.value} />;
}
