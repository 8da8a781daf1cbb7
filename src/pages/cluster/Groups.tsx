import { type DataFrame } from '@grafana/data';
import { type CellProps, type Column, InteractiveTable, Stack, Text, TextLink } from '@grafana/ui';
import React, { useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';

import { type GpuQuery } from '../../datasource/types';
import { CsvButton, ExploreLink } from '../shared/Actions';
import { type PageView } from '../shared/Page';
import { keeping, nodePath } from '../shared/paths';
import { type Row, textOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { SeverityBadge } from '../shared/severity';
import { type Group, groupsOf, judgedNodes } from './worstNodes';

interface Props extends Pick<PageView, 'uid' | 'state'> {
  queries: GpuQuery[];
  frame: DataFrame | undefined;
  health: Row[];
}

const PAGE_SIZE = 25;

/** Nodes that share a rack or an NVLink domain, so that a fault of what they share is seen as one. */
export function Groups({ uid, state, queries, frame, health }: Props) {
  const [search] = useSearchParams();
  const groups = useMemo(() => groupsOf(judgedNodes(health, [])), [health]);
  const cluster = health.length > 0 ? textOf(health[0], 'cluster') : '';
  const columns = useMemo<Array<Column<Group>>>(
    () => [
      {
        id: 'severity',
        header: 'Severity',
        cell: ({ row }: CellProps<Group>) => <SeverityBadge severity={row.original.severity} />,
      },
      { id: 'kind', header: 'They share', sortType: 'string' },
      { id: 'name', header: 'Name', sortType: 'alphanumeric' },
      { id: 'needing', header: 'Ask for somebody', sortType: 'number' },
      {
        id: 'nodes',
        header: 'Nodes',
        cell: ({ row }: CellProps<Group>) => (
          <Stack gap={1} wrap="wrap">
            {row.original.nodes.map((node) => (
              <TextLink key={node} href={keeping(nodePath(cluster, node), search)}>
                {node}
              </TextLink>
            ))}
          </Stack>
        ),
      },
    ],
    [cluster, search]
  );
  return (
    <Section
      title="Racks and NVLink domains"
      actions={
        <Stack gap={1}>
          <CsvButton name="gpu-places" frame={frame} rows={health} />
          <ExploreLink uid={uid} queries={queries} range={state.range} />
        </Stack>
      }
    >
      {groups.length === 0 ? (
        <Text color="secondary">
          No series says which rack or NVLink domain its node is in. Give the targets a label for it, such as rack, and
          name that label in the data source’s settings under Judgements.
        </Text>
      ) : (
        <InteractiveTable
          columns={columns}
          data={groups}
          pageSize={PAGE_SIZE}
          getRowId={({ kind, name }) => `${kind}/${name}`}
        />
      )}
    </Section>
  );
}
