import { Alert, Button, FilterInput, LoadingPlaceholder, Stack, Text } from '@grafana/ui';
import React, { useCallback } from 'react';

import { type AgentsPage, type AgentState } from '../../datasource/types';
import { useAnswer } from '../../shared/useAnswer';
import { AgentsTable } from '../home/AgentsTable';
import { stateInfo } from '../home/agentState';
import { Notices } from '../shared/Notices';
import { type PageView } from '../shared/Page';
import { getResource } from '../shared/resource';
import { Section } from '../shared/Section';

/** As many as the backend gives at once. */
const MOST = '500';

/** Beyond this a clock that is wrong shifts what is seen. */
const SKEW_MS = 2000;

/** The agents: how each is reached, how far its clock is off, and where it was found. */
export function Agents({ uid, state, tick }: PageView) {
  const [clusters, chosen, search] = [state.scope.clusters ?? [], state.get('agent'), state.get('search')];
  const question = JSON.stringify({ cluster: clusters, state: chosen, search, limit: MOST });
  const answer = useAnswer(
    useCallback(() => {
      void tick;
      return getResource<AgentsPage>(uid, 'agents/page', given(JSON.parse(question)));
    }, [uid, question, tick])
  );
  return (
    <Section title="Agents">
      {answer.error && (
        <Alert severity="warning" title="The agents cannot be listed">
          {answer.error}
        </Alert>
      )}
      {!answer.value && !answer.error && <LoadingPlaceholder text="Looking for agents…" />}
      {answer.value && (
        <Stack direction="column" gap={1}>
          <Notices notices={answer.value.notices} />
          <Stack gap={1} wrap="wrap">
            <FilterInput
              aria-label="Search agents"
              placeholder="Node or address"
              width={30}
              value={search}
              escapeRegex={false}
              onChange={(text) => state.set({ search: text })}
            />
            {Object.entries(answer.value.states).map(([name, count]) => (
              <Button
                key={name}
                size="sm"
                variant={chosen === name ? 'primary' : 'secondary'}
                aria-pressed={chosen === name}
                onClick={() => state.set({ agent: chosen === name ? '' : name })}
              >
                {`${stateInfo(name as AgentState).label}: ${count}`}
              </Button>
            ))}
          </Stack>
          <Listed page={answer.value} />
        </Stack>
      )}
    </Section>
  );
}

function Listed({ page: { agents, matched, sources } }: { page: AgentsPage }) {
  const skewed = agents.filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > SKEW_MS);
  return (
    <>
      {skewed.length > 0 && (
        <Alert severity="warning" title={`The clocks of ${skewed.length} agents are off`}>
          {skewed.map(({ node, clockOffsetMs }) => `${node} by ${(clockOffsetMs / 1000).toFixed(1)} s`).join(', ')}. Live
          samples are put in place by what is known of the clock; let the nodes follow a time server.
        </Alert>
      )}
      {sources.map(({ name, found, error }) => (
        <Text key={name} color={error ? 'error' : 'secondary'}>
          {name}: {error || `${found} found`}
        </Text>
      ))}
      {matched > agents.length && (
        <Text color="secondary">
          The first {agents.length} of {matched} are shown: search, or choose a state.
        </Text>
      )}
      {agents.length > 0 ? (
        <AgentsTable agents={agents} />
      ) : (
        <Text>No agent is known. Panels show what Prometheus has, and nothing live.</Text>
      )}
    </>
  );
}

/** Parameters without those that are empty, which would match nothing. */
function given(parameters: Record<string, string | string[]>): Record<string, string | string[]> {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value.length > 0));
}
