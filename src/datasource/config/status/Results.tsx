import {
  Alert,
  Badge,
  type CellProps,
  type Column,
  InteractiveTable,
  LoadingPlaceholder,
  Stack,
  Text,
  TextLink,
} from '@grafana/ui';
import React, { useCallback } from 'react';

import { useAnswer } from '../../../shared/useAnswer';
import { type AgentStatus } from '../../types';
import { Fields } from '../form/Folded';
import { type AgentsHealth, checkHealth, type Health, type ServerHealth } from './health';

interface Props {
  uid: string;
  /** Asks anew when it changes. */
  round: number;
}

/** What a check found out. */
export function Results({ uid, round }: Props) {
  const { value, error, loading } = useAnswer(
    useCallback(() => {
      void round;
      return checkHealth(uid);
    }, [uid, round])
  );
  return (
    <div aria-live="polite" aria-busy={loading}>
      {loading && <LoadingPlaceholder text="Asking every server, and some of the agents…" />}
      {error && (
        <Alert severity="error" title="The check could not be made">
          {error}
        </Alert>
      )}
      {value && !loading && <HealthView health={value} />}
    </div>
  );
}

function HealthView({ health: { status, message, details = {} } }: { health: Health }) {
  const { servers, agents, alertmanagers, unknown, verboseMessage } = details;
  if (!servers) {
    return (
      <Alert severity="error" title="The settings cannot be used">
        <Lines lines={(verboseMessage || message).split('\n')} />
      </Alert>
    );
  }
  return (
    <Fields>
      {status !== 'OK' && <Alert severity="error" title={message} />}
      {servers.length > 0 && <InteractiveTable columns={SERVER_COLUMNS} data={servers} getRowId={({ id }) => id} />}
      {agents && <Agents agents={agents} />}
      <Lines lines={alertmanagers ?? []} />
      {Boolean(unknown?.length) && (
        <Alert severity="warning" title="Settings that mean nothing here, misspelt perhaps">
          {unknown?.join(', ')}
        </Alert>
      )}
      <TextLink href="/a/warpwatch-gpu-app/coverage">Coverage: every metric, and the line that turns it on</TextLink>
    </Fields>
  );
}

const SERVER_COLUMNS: Array<Column<ServerHealth>> = [
  { id: 'id', header: 'Server', cell: ({ row: { original } }) => <Id server={original} /> },
  { id: 'cluster', header: 'Cluster' },
  {
    id: 'version',
    header: 'Version',
    cell: ({ row: { original } }) =>
      original.error ? '–' : `${original.flavour} ${original.version || '(version unknown)'}`,
  },
  {
    id: 'latencyMs',
    header: 'Answers in',
    cell: ({ row: { original } }) => (original.error ? '–' : `${Math.max(1, Math.round(original.latencyMs))} ms`),
  },
  {
    id: 'exporters',
    header: 'Metrics of',
    cell: ({ row: { original } }) => original.exporters.join(', ') || '–',
  },
  { id: 'next', header: 'Next step', cell: ({ row: { original } }) => <Next server={original} /> },
];

function Id({ server }: { server: ServerHealth }) {
  return (
    <Stack gap={1} alignItems="center">
      <Verdict isGood={!server.error} />
      {server.id}
      {server.replica && <Badge color="blue" text="Replica" />}
    </Stack>
  );
}

function Next({ server: { error, next } }: { server: ServerHealth }) {
  if (error) {
    return <Text color="error">{error}</Text>;
  }
  return next.length > 0 ? <Lines lines={next} /> : 'Nothing to do';
}

const AGENT_COLUMNS: Array<Column<AgentStatus>> = [
  {
    id: 'node',
    header: 'Agent',
    cell: ({ row: { original } }) => (
      <Stack gap={1} alignItems="center">
        <Verdict isGood={streams(original)} />
        {original.node || original.address}
      </Stack>
    ),
  },
  { id: 'cluster', header: 'Cluster' },
  { id: 'address', header: 'Address' },
  { id: 'version', header: 'Version', cell: ({ row }) => row.original.version || '–' },
  { id: 'devices', header: 'Devices', cell: ({ row }) => row.original.devices || '–' },
  { id: 'state', header: 'State' },
  { id: 'error', header: 'Next step', cell: AgentNext },
];

function AgentNext({ row: { original } }: CellProps<AgentStatus>) {
  if (original.error) {
    return <Text color="error">{original.error}</Text>;
  }
  return streams(original) ? 'Nothing to do' : 'Check again: it has not answered yet';
}

/** The tried ones that are in trouble first. */
function Agents({ agents: { known, connected, gpus, tried, notes } }: { agents: AgentsHealth }) {
  const rows = [...tried].sort((a, b) => Number(streams(a)) - Number(streams(b)));
  return (
    <>
      <Text element="h4">
        {known === 0 ? 'No agent is found' : `${connected} of ${tried.length} agents connected, ${gpus} GPUs`}
      </Text>
      {tried.length < known && <Text color="secondary">{`Tried ${tried.length} of ${known} agents.`}</Text>}
      {rows.length > 0 && (
        <InteractiveTable
          columns={AGENT_COLUMNS}
          data={rows}
          pageSize={rows.length > PAGE ? PAGE : 0}
          getRowId={({ cluster, address }) => `${cluster}/${address}`}
        />
      )}
      <Lines lines={notes} />
    </>
  );
}

const PAGE = 10;

function streams({ state }: AgentStatus): boolean {
  return state === 'connected' || state === 'lagging';
}

function Verdict({ isGood }: { isGood: boolean }) {
  return isGood ? <Badge color="green" icon="check" text="OK" /> : <Badge color="red" icon="times" text="Failed" />;
}

function Lines({ lines }: { lines: string[] }) {
  return (
    <>
      {lines.map((line) => (
        <Text key={line} element="p" variant="bodySmall" color="secondary">
          {line}
        </Text>
      ))}
    </>
  );
}
