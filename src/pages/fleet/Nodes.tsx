import { formattedValueToString, getValueFormat } from '@grafana/data';
import { type Column, InteractiveTable, Stack, Text, TextLink } from '@grafana/ui';
import React, { useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';

import { type GpuQuery } from '../../datasource/types';
import { MOST_ROWS } from '../health/healthQuery';
import { CsvButton, ExploreLink } from '../shared/Actions';
import { AnswerView } from '../shared/AnswerView';
import { type PageView } from '../shared/Page';
import { clusterPath, keeping, nodePath } from '../shared/paths';
import { frameNamed, rowsOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { useQueries } from '../shared/useQueries';
import { type NodeRow, nodesOf } from './nodesOf';

const PAGE_SIZE = 25;

/** The nodes with what their GPUs do in all; each leads to its page. */
export function Nodes({ uid, state, tick }: PageView) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'inventory', ...state.scope, maxRows: MOST_ROWS }];
  const answer = useQueries(uid, queries, state.range, tick);
  const frame = frameNamed(answer.value?.frames, 'inventory');
  const rows = useMemo(() => rowsOf(frame), [frame]);
  const nodes = useMemo(() => nodesOf(rows), [rows]);
  return (
    <Section
      title={answer.value ? `Nodes: ${nodes.length}` : 'Nodes'}
      actions={
        <Stack gap={1}>
          <CsvButton name="gpu-inventory" frame={frame} rows={rows} />
          <ExploreLink uid={uid} queries={queries} range={state.range} />
        </Stack>
      }
    >
      <AnswerView answer={answer} loading="Looking for GPUs…">
        {() => (nodes.length === 0 ? <Text>No GPU is known in this time range.</Text> : <NodeTable nodes={nodes} />)}
      </AnswerView>
    </Section>
  );
}

function NodeTable({ nodes }: { nodes: NodeRow[] }) {
  const [search] = useSearchParams();
  const columns = useMemo<Array<Column<NodeRow>>>(
    () => [
      {
        id: 'cluster',
        header: 'Cluster',
        sortType: 'alphanumeric',
        cell: ({ row: { original } }) =>
          original.cluster && (
            <TextLink href={keeping(clusterPath(original.cluster), search)}>{original.cluster}</TextLink>
          ),
      },
      {
        id: 'node',
        header: 'Node',
        sortType: 'alphanumeric',
        cell: ({ row: { original } }) => (
          <TextLink href={keeping(nodePath(original.cluster, original.node), search)}>{original.node}</TextLink>
        ),
      },
      { id: 'models', header: 'Model', sortType: 'alphanumeric' },
      { id: 'gpus', header: 'GPUs', sortType: 'number' },
      { id: 'lost', header: 'Gone', sortType: 'number' },
      measured('activity', 'SM active', 'percentunit'),
      measured('memoryUsed', 'Memory used', 'bytes'),
      measured('memoryTotal', 'of', 'bytes'),
      measured('power', 'Power', 'watt'),
      measured('hottest', 'Hottest', 'celsius'),
      { id: 'agent', header: 'Agent', sortType: 'string' },
    ],
    [search]
  );
  return (
    <InteractiveTable
      columns={columns}
      data={nodes}
      pageSize={PAGE_SIZE}
      getRowId={({ cluster, node }) => `${cluster}/${node}`}
    />
  );
}

type Measured = 'activity' | 'memoryUsed' | 'memoryTotal' | 'power' | 'hottest';

function measured(id: Measured, header: string, unit: string): Column<NodeRow> {
  const format = getValueFormat(unit);
  return {
    id,
    header,
    sortType: 'number',
    cell: ({ row: { original } }) => {
      const value = original[id];
      return value === undefined ? '' : formattedValueToString(format(value));
    },
  };
}
