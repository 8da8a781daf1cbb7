import { screen, within } from '@testing-library/react';
import React from 'react';

import { testUser } from '../../test/testUser';
import { FakeSource, rowFrame } from '../test/fakeSource';
import { grafana, resetGrafana } from '../test/runtime';
import { showAt } from '../test/show';
import { ClusterPage } from './ClusterPage';

jest.mock('@grafana/runtime', () => jest.requireActual('../test/runtime').runtime);

const judged = (node: string, severity: string, rest: Record<string, string> = {}) => ({
  cluster: 'north',
  node,
  gpu: '0',
  gpu_uuid: `GPU-${node}`,
  severity,
  reason: `${node} is hot`,
  evidence: '91 °C',
  rack: '',
  nvlink_domain: '',
  ...rest,
});

beforeEach(() => {
  resetGrafana();
  grafana.source = new FakeSource({
    health: [rowFrame('health', [judged('n2', 'warning', { rack: 'r7' }), judged('n1', 'ok')])],
    inventory: [
      rowFrame('inventory', [
        { cluster: 'north', node: 'n2', gpu_uuid: 'GPU-n2', mig_id: '', state: 'present', power: 300 },
      ]),
    ],
    bottleneck: [rowFrame('bottleneck_summary', [{ verdict: 'thermal' }, { verdict: 'compute' }])],
  });
});

const show = (address: string) => showAt(address, '/fleet/clusters/:cluster', <ClusterPage />);
const region = async (name: string) => within(await screen.findByRole('region', { name }));

test('nodes come with the worst first, and each opens to say why', async () => {
  show('/fleet/clusters/north');
  const nodes = await region('Nodes: 2');
  const links = nodes.getAllByRole('link', { name: /^n\d/ });
  expect(links.map(({ textContent }) => textContent)).toEqual(['n2', 'n1']);
  expect(links[0]).toHaveAttribute('href', '/a/warpwatch-gpu-app/fleet/nodes/north/n2');
  expect(await nodes.findByText('300 W')).toBeInTheDocument();
  await testUser().click(nodes.getAllByRole('button', { name: /Toggle row expanded|expand/i })[0]);
  expect(nodes.getByText('91 °C')).toBeInTheDocument();
  expect(await (await region('What holds GPUs back')).findByRole('rowheader', { name: 'thermal' })).toBeInTheDocument();
  expect(grafana.source.queries.every(({ clusters }) => clusters?.[0] === 'north')).toBe(true);
});

test('racks have their nodes; without labels it says what to set', async () => {
  show('/fleet/clusters/north');
  const groups = await region('Racks and NVLink domains');
  expect(groups.getByText('r7')).toBeInTheDocument();
  expect(groups.getByRole('link', { name: 'n2' })).toBeInTheDocument();
  expect(groups.queryByText(/Give the targets a label/)).not.toBeInTheDocument();
});

test('a cluster whose nodes tell no place says which label would', async () => {
  grafana.source.answers.health = [rowFrame('health', [judged('n1', 'ok')])];
  show('/fleet/clusters/north');
  expect(await (await region('Racks and NVLink domains')).findByText(/Give the targets a label/)).toBeInTheDocument();
});

test('a cluster that nothing is known of is not well', async () => {
  grafana.source.answers.health = [rowFrame('health', [])];
  show('/fleet/clusters/south');
  expect(await screen.findByText(/No GPU is known within these filters/)).toBeInTheDocument();
});
