import { css } from '@emotion/css';
import { type DataFrame, formattedValueToString, getValueFormat, type GrafanaTheme2 } from '@grafana/data';
import { type CellProps, type Column, InteractiveTable, Stack, Text, TextLink, useStyles2 } from '@grafana/ui';
import React, { useCallback, useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';

import { type GpuQuery } from '../../datasource/types';
import { type NodeRow } from '../fleet/nodesOf';
import { Why } from '../health/Why';
import { CsvButton, ExploreLink } from '../shared/Actions';
import { type PageView } from '../shared/Page';
import { keeping, nodePath } from '../shared/paths';
import { type Row, textOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { SeverityBadge } from '../shared/severity';
import { usePrinting } from '../shared/usePrinting';
import { type JudgedNode, judgedNodes, rank } from './worstNodes';

interface Props extends Pick<PageView, 'uid' | 'state'> {
  queries: GpuQuery[];
  frame: DataFrame | undefined;
  health: Row[];
  inventory: Row[];
  /** Why the inventory is not there, if it is not. */
  problem?: string;
}

const PAGE_SIZE = 25;
const PRINTED = 1000;

/** The nodes of a cluster, the worst first; each opens to say why. */
export function WorstNodes({ uid, state, queries, frame, health, inventory, problem }: Props) {
  const [search] = useSearchParams();
  const printing = usePrinting();
  const styles = useStyles2(getStyles);
  const nodes = useMemo(() => judgedNodes(health, inventory), [health, inventory]);
  const columns = useMemo<Array<Column<JudgedNode>>>(
    () => [
      {
        id: 'severity',
        header: 'Severity',
        cell: ({ row }: CellProps<JudgedNode>) => <SeverityBadge severity={row.original.severity} />,
        sortType: (a, b) => rank(b.original.severity) - rank(a.original.severity),
      },
      {
        id: 'node',
        header: 'Node',
        sortType: 'alphanumeric',
        cell: ({ row: { original } }: CellProps<JudgedNode>) => (
          <TextLink href={keeping(nodePath(textOf(original.worst, 'cluster'), original.node), search)}>
            {original.node}
          </TextLink>
        ),
      },
      {
        id: 'reason',
        header: 'Worst',
        cell: ({ row }: CellProps<JudgedNode>) => <div className={styles.wide}>{row.original.reason}</div>,
      },
      { id: 'needing', header: 'Ask for somebody', sortType: 'number' },
      { id: 'rack', header: 'Rack', sortType: 'alphanumeric', visible: (all) => all.some(({ rack }) => rack !== '') },
      {
        id: 'domain',
        header: 'NVLink domain',
        sortType: 'alphanumeric',
        visible: (all) => all.some(({ domain }) => domain !== ''),
      },
      summed('gpus', 'GPUs', 'none'),
      summed('activity', 'SM active', 'percentunit'),
      summed('memoryUsed', 'Memory used', 'bytes'),
      summed('power', 'Power', 'watt'),
      summed('hottest', 'Hottest', 'celsius'),
    ],
    [search, styles]
  );
  const why = useCallback(
    ({ worst }: JudgedNode) => <Why uid={uid} row={worst} range={state.range} />,
    [uid, state.range]
  );
  return (
    <Section
      title={`Nodes: ${nodes.length}`}
      actions={
        <Stack gap={1}>
          <CsvButton name="gpu-cluster-health" frame={frame} rows={health} />
          <ExploreLink uid={uid} queries={queries} range={state.range} />
        </Stack>
      }
    >
      {problem && <Text color="error">What GPUs do is not known: {problem}</Text>}
      <InteractiveTable
        columns={columns}
        data={nodes}
        pageSize={printing ? PRINTED : PAGE_SIZE}
        getRowId={({ node }) => node}
        renderExpandedRow={why}
      />
    </Section>
  );
}

type Summed = 'gpus' | 'activity' | 'memoryUsed' | 'power' | 'hottest';

/** A sum over the GPUs of a node; empty where nobody measured any. */
function summed(of: Summed, header: string, unit: string): Column<JudgedNode> {
  const format = getValueFormat(unit);
  const valueOf = (sums?: NodeRow) => sums?.[of];
  return {
    id: of,
    header,
    sortType: (a, b) => (valueOf(a.original.sums) ?? -1) - (valueOf(b.original.sums) ?? -1),
    cell: ({ row }: CellProps<JudgedNode>) => {
      const value = valueOf(row.original.sums);
      return value === undefined ? '' : formattedValueToString(format(value));
    },
  };
}

const getStyles = (theme: GrafanaTheme2) => ({ wide: css({ minWidth: theme.spacing(30) }) });
