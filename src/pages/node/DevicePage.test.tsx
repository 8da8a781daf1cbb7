import { screen, waitFor, within } from '@testing-library/react';
import React from 'react';

import { FakeSource, rowFrame, tableFrame } from '../test/fakeSource';
import { grafana, resetGrafana } from '../test/runtime';
import { showAt } from '../test/show';
import { DevicePage } from './DevicePage';

jest.mock('@grafana/runtime', () => jest.requireActual('../test/runtime').runtime);
jest.mock('../shared/Panels', () => ({
  hasPanel: () => true,
  Panels: ({ panels }: { panels: Array<{ title: string; query: object }> }) => (
    <ul aria-label="Panels">
      {panels.map(({ title, query }) => (
        <li key={title}>{`${title} ${JSON.stringify(query)}`}</li>
      ))}
    </ul>
  ),
}));

const PLACE = { cluster: ['north'], node: ['n1'], gpu: ['0'], gpu_uuid: ['GPU-a'], mig_id: [''], mig_profile: [''] };

beforeEach(() => {
  resetGrafana();
  grafana.source = new FakeSource({
    health: [tableFrame('health', { ...PLACE, of: ['gpu'], severity: ['warning'], reason: ['It is hot'] })],
    inventory: [
      tableFrame('inventory', { ...PLACE, state: ['present'], power: [300], xid: [79], xid_text: ['XID 79: lost'] }),
    ],
    events: [tableFrame('events', { ...PLACE, title: ['Throttled'], time: [0] }, ['time'])],
  });
});

const show = (address: string) => showAt(address, '/nodes/:cluster/:node/gpus?/:gpu?/mig?/:mig?', <DevicePage />);
const region = async (name: string) => within(await screen.findByRole('region', { name }));

test('a node has health, GPUs, events, and panels of its scope', async () => {
  show('/nodes/north/n1');
  expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent('n1');
  expect(await (await region('Health')).findByText('It is hot')).toBeInTheDocument();
  expect(await (await region('Events')).findByText('Throttled')).toBeInTheDocument();
  const gpus = await region('GPUs and MIG instances');
  expect(await gpus.findByRole('link', { name: 'GPU 0' })).toHaveAttribute(
    'href',
    '/a/warpwatch-gpu-app/fleet/nodes/north/n1/gpus/GPU-a'
  );
  expect(gpus.getByRole('link', { name: 'XID 79: lost' })).toHaveAttribute(
    'href',
    '/a/warpwatch-gpu-app/runbooks/xid-79'
  );
  expect(screen.getByText(/^What holds it back .*"nodes":\["n1"\]/)).toBeInTheDocument();
  expect(grafana.source.queries.every(({ nodes, clusters }) => nodes?.[0] === 'n1' && clusters?.[0] === 'north')).toBe(
    true
  );
});

test('a MIG instance is asked for by GPU and instance', async () => {
  show('/nodes/north/n1/gpus/GPU-a/mig/7');
  await region('Health');
  await screen.findByText('It is hot');
  expect(grafana.source.queries[0]).toMatchObject({ gpus: ['GPU-a'], migs: ['GPU-a/7'] });
});

test('a MIG instance and its GPU are called as people call them once the inventory is there', async () => {
  const instance = { mig_id: ['7'], mig_profile: ['1g.18gb'], model: ['NVIDIA H200'] };
  grafana.source = new FakeSource({ inventory: [tableFrame('inventory', { ...PLACE, ...instance })] });
  show('/nodes/north/n1/gpus/GPU-a/mig/7');
  expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent('MIG #7');
  expect(await screen.findByRole('heading', { level: 1, name: 'MIG 1g.18gb #7' })).toBeInTheDocument();
  expect((await region('Now and before')).queryByText(/^Power /)).not.toBeInTheDocument();
});

test('a GPU that no inventory has keeps the name in its address', async () => {
  show('/nodes/north/n1/gpus/GPU-b');
  await screen.findByText('It is hot');
  expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent('GPU-b');
});

test('no process is not said to be none where nobody could tell', async () => {
  show('/nodes/-/n1');
  expect(await (await region('Processes now')).findByText(/told by the Warpwatch agent alone/)).toBeInTheDocument();
  expect(grafana.source.queries[0].clusters).toBeUndefined();
});

test('links and the room for MIG instances are told of the whole GPU, with the graph', async () => {
  const vertex = (kind: string, title: string, rest: Record<string, string> = {}) => ({
    id: `${kind}/GPU-a`,
    title,
    subtitle: '3 of 7 slices',
    mainstat: '3g.71gb',
    secondarystat: 'fragmented 33 %',
    detail__kind: kind,
    detail__fits: '',
    detail__node: 'n1',
    detail__gpu_uuid: 'GPU-a',
    ...rest,
  });
  const edge = (id: string, state: string) => ({
    id,
    source: 'host/n1',
    target: 'gpu/GPU-a',
    mainstat: 'Gen3 ×16',
    detail__state: state,
    detail__why: 'It could be Gen5',
  });
  grafana.source.answers.topology = [
    rowFrame('nodes', [vertex('gpu', 'GPU 0'), vertex('room', 'free', { detail__fits: '1× 3g.71gb, 3× 1g.18gb' })]),
    rowFrame('edges', [edge('pcie/gpu/GPU-a', 'degraded'), edge('part/instance/GPU-a', 'ok')]),
  ];
  show('/nodes/north/n1/gpus/GPU-a/mig/7');
  const links = await region('Links');
  // The list is drawn anew when the names of GPUs come.
  await waitFor(() => expect(links.getByText('It could be Gen5')).toBeInTheDocument());
  expect(links.getAllByRole('row')).toHaveLength(2);
  expect(links.getByRole('link', { name: 'GPU 0' })).toHaveAttribute(
    'href',
    '/a/warpwatch-gpu-app/fleet/nodes/north/n1/gpus/GPU-a'
  );
  const room = await region('Room for MIG instances');
  expect(room.getByText('1× 3g.71gb, 3× 1g.18gb')).toBeInTheDocument();
  expect(room.getByText('fragmented 33 %')).toBeInTheDocument();
  const asked = grafana.source.queries.find(({ queryType }) => queryType === 'topology');
  expect(asked).toMatchObject({ gpus: ['GPU-a'], nodes: ['n1'] });
  expect(asked?.migs).toBeUndefined();
  expect(screen.getByText(/^Links and MIG instances/)).toBeInTheDocument();
});

test('where no link is measured it says what to export', async () => {
  show('/nodes/north/n1');
  expect(await (await region('Links')).findByText(/uncomment the fields of PCIe and NVLink/)).toBeInTheDocument();
});
