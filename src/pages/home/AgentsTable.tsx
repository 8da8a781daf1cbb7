import { Badge, type CellProps, type Column, InteractiveTable, Text, Tooltip } from '@grafana/ui';
import React, { useMemo } from 'react';

import { type AgentStatus } from '../../datasource/types';
import { offsetText, periodText, stateInfo } from './agentState';

/** Rows a page: a fleet may have thousands of nodes. */
const PAGE_SIZE = 25;

/** The agents and how each is reached. */
export function AgentsTable({ agents }: { agents: AgentStatus[] }) {
  const columns = useMemo<Array<Column<AgentStatus>>>(
    () => [
      { id: 'cluster', header: 'Cluster', sortType: 'alphanumeric' },
      { id: 'node', header: 'Node', sortType: 'alphanumeric' },
      { id: 'state', header: 'State', sortType: 'string', cell: StateCell },
      { id: 'devices', header: 'Devices', sortType: 'number' },
      { id: 'periodMs', header: 'Period', sortType: 'number', cell: ({ row }) => periodText(row.original.periodMs) },
      {
        id: 'clockOffsetMs',
        header: 'Clock',
        sortType: 'number',
        cell: ({ row }) => (row.original.state === 'connected' ? offsetText(row.original.clockOffsetMs) : '–'),
      },
      { id: 'version', header: 'Version', sortType: 'alphanumeric' },
      { id: 'source', header: 'Source', sortType: 'string' },
      { id: 'address', header: 'Address', sortType: 'alphanumeric' },
      { id: 'error', header: 'Problem', cell: ErrorCell },
    ],
    []
  );
  return (
    <InteractiveTable
      columns={columns}
      data={agents}
      pageSize={PAGE_SIZE}
      getRowId={({ cluster, node, address }) => `${cluster}/${node}/${address}`}
    />
  );
}

function StateCell({ row }: CellProps<AgentStatus>) {
  const { label, color, meaning } = stateInfo(row.original.state);
  return (
    <Tooltip content={meaning || label}>
      <span>
        <Badge text={label} color={color} />
      </span>
    </Tooltip>
  );
}

function ErrorCell({ row }: CellProps<AgentStatus>) {
  return row.original.error ? <Text color="error">{row.original.error}</Text> : null;
}
