import { css } from '@emotion/css';
import { type DataSourceInstanceSettings, type GrafanaTheme2 } from '@grafana/data';
import { Alert, Badge, Button, LinkButton, LoadingPlaceholder, Stack, Text, useStyles2 } from '@grafana/ui';
import React, { useState } from 'react';

import { settingsPath } from '../../shared/dataSources';
import { type Answer, useAnswer } from '../../shared/useAnswer';
import { type AgentStatus } from '../../datasource/types';
import { AgentsTable } from './AgentsTable';
import { type Health, newCheck } from './api';

/** One data source: its Prometheus side by its health check, its live side agent by agent. */
export function SourceStatus({ source }: { source: DataSourceInstanceSettings }) {
  const [check, setCheck] = useState(() => newCheck(source.uid));
  const health = useAnswer(check.health);
  const agents = useAnswer(check.agents);

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
          <Button variant="secondary" size="sm" icon="sync" onClick={() => setCheck(newCheck(source.uid))}>
            Check again
          </Button>
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
  const lines = details.length > 0 && <DetailList lines={details} />;
  if (ok) {
    return lines || <Text>{message}</Text>;
  }
  return (
    <Alert severity="warning" title={message}>
      {lines}
    </Alert>
  );
}

function DetailList({ lines }: { lines: string[] }) {
  const styles = useStyles2(getStyles);
  return (
    <ul className={styles.details}>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
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

const getStyles = (theme: GrafanaTheme2) => ({
  details: css({ paddingLeft: theme.spacing(2.5) }),
});
