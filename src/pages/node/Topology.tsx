import { Text } from '@grafana/ui';
import React, { useMemo } from 'react';

import { type GpuQuery } from '../../datasource/types';
import { hasPanel, Panels } from '../shared/Panels';
import { type PageView } from '../shared/Page';
import { frameNamed, rowsOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { TableSection } from '../shared/TableSection';
import { useQueries } from '../shared/useQueries';
import { type Place } from './place';
import { isLink, isRoom, linkColumns, NODE_GRAPH, roomColumns, verticesOf } from './topologyRows';

interface Props extends PageView {
  place: Place;
}

const HEIGHT = 420;

/** How GPUs hang together: the graph, and as lists each link and the room that is left for MIG instances. */
export function Topology({ uid, state, tick, place }: Props) {
  const query: GpuQuery = {
    refId: 'A',
    queryType: 'topology',
    ...(place.cluster !== '' && { clusters: [place.cluster] }),
    nodes: [place.node],
    // Of an instance the whole GPU, which is what has links and room.
    ...(place.gpu !== '' && { gpus: [place.gpu] }),
    options: { parts: ['pcie', 'nvlink', 'mig'] },
  };
  const queries = [query];
  const answer = useQueries(uid, queries, state.range, tick);
  const vertices = frameNamed(answer.value?.frames, 'nodes');
  const known = useMemo(() => verticesOf(rowsOf(vertices), place), [vertices, place]);
  const [links, rooms] = useMemo(() => [linkColumns(known), roomColumns(known)], [known]);
  const shared = { uid, state, answer, queries, loading: 'Looking at links…' };
  return (
    <>
      <Section title="Topology">
        {hasPanel(NODE_GRAPH) ? (
          <Panels
            uid={uid}
            range={state.range}
            tick={tick}
            panels={[{ title: 'Links and MIG instances', plugin: NODE_GRAPH, query, wide: true, height: HEIGHT }]}
          />
        ) : (
          <Text color="secondary">
            This Grafana has no panel of type node graph, so the lists below say it in words.
          </Text>
        )}
      </Section>
      <TableSection
        {...shared}
        title="Links"
        file="gpu-links"
        frame="edges"
        filter={isLink}
        columns={links}
        empty="No link is measured. Of dcgm-exporter uncomment the fields of PCIe and NVLink, or run the Warpwatch agent."
      />
      <TableSection
        {...shared}
        notices={false}
        title="Room for MIG instances"
        file="gpu-mig-room"
        frame="nodes"
        filter={isRoom}
        columns={rooms}
        empty="No GPU here is known to be split into MIG instances."
      />
    </>
  );
}
