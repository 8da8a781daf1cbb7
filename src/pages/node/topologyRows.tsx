import React from 'react';

import { type Row, textOf } from '../shared/rows';
import { type TableColumn } from '../shared/TableSection';
import { Device } from '../shared/Where';
import { type Place } from './place';

/** The id of Grafana's panel. */
export const NODE_GRAPH = 'nodeGraph';

/** GPUs of a graph as rows of other tables name them, by the id of their vertex and by their UUID. */
export type Known = ReadonlyMap<string, Row>;

/** Links by how the ids of their lines begin, with what people call them. */
const LINKS: Array<[beginning: string, name: string]> = [
  ['pcie/', 'PCIe'],
  ['nvlink/', 'NVLink'],
  ['c2c/', 'C2C'],
];

const GPU_TITLE = /^GPU (\d+)$/;

/** The GPUs among the vertices of a place. */
export function verticesOf(vertices: Row[], { cluster }: Place): Known {
  const known = new Map<string, Row>();
  for (const vertex of vertices.filter((row) => textOf(row, 'detail__kind') === 'gpu')) {
    const uuid = textOf(vertex, 'detail__gpu_uuid');
    const [, gpu = ''] = GPU_TITLE.exec(textOf(vertex, 'title')) ?? [];
    const row = { cluster, node: textOf(vertex, 'detail__node'), gpu, gpu_uuid: uuid };
    known.set(textOf(vertex, 'id'), row).set(uuid, row);
  }
  return known;
}

/** Whether a line of the graph is a link that carries data. */
export function isLink(row: Row): boolean {
  return linkName(row) !== '';
}

/** Whether a circle of the graph is what is left of a GPU that is split. */
export function isRoom(row: Row): boolean {
  return textOf(row, 'detail__kind') === 'room';
}

function linkName(row: Row): string {
  return LINKS.find(([beginning]) => textOf(row, 'id').startsWith(beginning))?.[1] ?? '';
}

export function linkColumns(known: Known): TableColumn[] {
  const gpuOf = (row: Row) => known.get(textOf(row, 'source')) ?? known.get(textOf(row, 'target'));
  return [
    { header: 'GPU', column: 'source', cell: (row) => <Gpu row={gpuOf(row)} /> },
    { header: 'Link', column: 'id', cell: linkName },
    { header: 'What', column: 'mainstat' },
    { header: 'State', column: 'detail__state' },
    { header: 'The GPU receives', column: 'detail__receive' },
    { header: 'The GPU sends', column: 'detail__transmit' },
    { header: 'Share of what it can carry', column: 'detail__share' },
    { header: 'Why', column: 'detail__why', wide: true },
    { header: 'Not measured', column: 'detail__assumed', wide: true },
  ];
}

export function roomColumns(known: Known): TableColumn[] {
  return [
    {
      header: 'GPU',
      column: 'detail__gpu_uuid',
      cell: (row) => <Gpu row={known.get(textOf(row, 'detail__gpu_uuid'))} />,
    },
    { header: 'Free', column: 'subtitle' },
    { header: 'Largest that fits', column: 'mainstat' },
    { header: 'What still fits, each alone', column: 'detail__fits', wide: true },
    { header: 'Fragmentation', column: 'secondarystat' },
    { header: 'State', column: 'detail__state' },
    { header: 'Why', column: 'detail__why', wide: true },
    { header: 'Not measured', column: 'detail__assumed', wide: true },
  ];
}

function Gpu({ row }: { row: Row | undefined }) {
  return row ? <Device row={row} /> : null;
}
