import { Alert, type Column, InteractiveTable, LinkButton, Text } from '@grafana/ui';
import React, { useMemo } from 'react';

import { type AgentsPage, type Coverage } from '../../datasource/types';
import { type Answer } from '../../shared/useAnswer';
import { ExploreLink } from '../shared/Actions';
import { Notices } from '../shared/Notices';
import { PATHS } from '../shared/paths';
import { type PageState } from '../shared/usePageState';
import { agentCounts, agentsState, type Exporter, exportersOf } from './exporters';
import { Install } from './Install';
import { ListButton } from './ListButton';
import { Step } from './Step';

interface Props {
  state: PageState;
  coverage: Answer<Coverage>;
  agents: Answer<AgentsPage>;
}

/** The second step: exporters that Prometheus scrapes, and agents that Grafana reaches. */
export function AgentsStep({ state, coverage, agents }: Props) {
  const exporters = useMemo(() => (coverage.value ? exportersOf(coverage.value) : []), [coverage.value]);
  return (
    <Step
      number={2}
      title="Find agents"
      state={state.uid ? agentsState(coverage, agents) : 'todo'}
      summary={
        state.uid ? summaryOf(exporters, coverage, agents) : 'First connect Prometheus: it knows who is scraped.'
      }
      actions={state.uid && <Actions uid={state.uid} state={state} exporters={exporters} />}
    >
      <Failure title="What Prometheus scrapes is not known" error={coverage.error} />
      <Failure title="The agents cannot be listed" error={agents.error} />
      <Notices notices={[...(coverage.value?.notices ?? []), ...(agents.value?.notices ?? [])]} />
      {exporters.length > 0 && (
        <InteractiveTable
          columns={COLUMNS}
          data={exporters}
          getRowId={({ cluster, exporter }) => `${cluster}/${exporter}`}
        />
      )}
      <Install state={state} />
      <Text color="secondary">
        Installing is for whoever runs the nodes and Prometheus; it takes no rights in Grafana.
      </Text>
    </Step>
  );
}

function Actions({ uid, state, exporters }: { uid: string; state: PageState; exporters: Exporter[] }) {
  return (
    <>
      <ListButton name="gpu-exporters" rows={exporters} />
      <ExploreLink uid={uid} queries={[{ refId: 'A', queryType: 'coverage' }]} range={state.range} />
      <LinkButton size="sm" variant="secondary" href={PATHS.coverage}>
        Why
      </LinkButton>
    </>
  );
}

function Failure({ title, error }: { title: string; error: string | undefined }) {
  return error ? (
    <Alert severity="error" title={title}>
      {error}
    </Alert>
  ) : null;
}

function summaryOf(exporters: Exporter[], coverage: Answer<Coverage>, agents: Answer<AgentsPage>): string {
  return [historyText(exporters, coverage), agentsText(agents)].filter(Boolean).join(' ');
}

function historyText(exporters: Exporter[], { value, error }: Answer<Coverage>): string {
  if (error) {
    return '';
  }
  if (!value) {
    return 'Looking at what Prometheus scrapes…';
  }
  if (exporters.length === 0) {
    return 'Prometheus has no series of a GPU exporter. Install an agent as below, or let Prometheus scrape the exporter that you have.';
  }
  const targets = exporters.reduce((sum, one) => sum + one.targets, 0);
  return `Prometheus has GPUs from ${targets} exporters of ${kinds(exporters)}.`;
}

function kinds(exporters: Exporter[]): string {
  return [...new Set(exporters.map(({ exporter }) => exporter))].join(', ');
}

function agentsText({ value, error }: Answer<AgentsPage>): string {
  if (error) {
    return '';
  }
  if (!value) {
    return 'Looking for agents…';
  }
  const { known, reached } = agentCounts(value);
  if (known === 0) {
    return 'No Warpwatch agent is known, so panels show history and nothing live.';
  }
  return reached === known
    ? `${known} Warpwatch agents are known, and none refuses.`
    : `${reached} of ${known} Warpwatch agents can be reached; the page Coverage says why the others cannot.`;
}

const COLUMNS: Array<Column<Exporter>> = [
  { id: 'cluster', header: 'Cluster', sortType: 'alphanumeric' },
  { id: 'exporter', header: 'Exporter', sortType: 'alphanumeric' },
  { id: 'targets', header: 'Nodes (scrape targets)', sortType: 'number' },
  { id: 'devices', header: 'GPUs and MIG instances', sortType: 'number' },
  { id: 'metrics', header: 'Metrics', sortType: 'number' },
];
