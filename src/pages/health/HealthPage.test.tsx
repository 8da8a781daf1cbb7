import { screen, within } from '@testing-library/react';
import React from 'react';

import { testUser } from '../../test/testUser';
import { PATHS } from '../shared/paths';
import { FakeSource, tableFrame } from '../test/fakeSource';
import { grafana, resetGrafana } from '../test/runtime';
import { showAt } from '../test/show';
import { HealthPage } from './HealthPage';

jest.mock('@grafana/runtime', () => jest.requireActual('../test/runtime').runtime);

const HEALTH = tableFrame('health', {
  cluster: ['north', 'north', 'north'],
  node: ['gpu-1', 'gpu-1', 'gpu-2'],
  gpu: ['1', '0', ''],
  gpu_uuid: ['GPU-b', 'GPU-a', ''],
  mig_id: ['', '', ''],
  mig_profile: ['', '', ''],
  owner: ['train/llm', '', ''],
  severity: ['critical', 'ok', 'unknown'],
  verdict: ['xid-79', 'ok', 'silent'],
  reason: ['The GPU has fallen off the bus', '', 'Nothing is known of this node'],
  evidence: ['XID 79 at 22:42', '', ''],
  action: ['Drain the node', '', 'Look at its exporter'],
  who_acts: ['operator', '', 'operator'],
  runbook: ['xid-79', '', ''],
  confidence: ['high', 'low', 'high'],
  since: [1_700_000_000_000, null, null],
  risk: [0.4, 0, null],
  silenced: ['', '', ''],
  missing: ['gpu_ecc_errors', '', ''],
});

const INCIDENTS = tableFrame('health_incidents', {
  incident: ['i1'],
  cluster: ['north'],
  node: ['gpu-1'],
  severity: ['critical'],
  reason: ['One GPU is lost'],
  action: ['Drain the node'],
  runbook: ['xid-79'],
  gpus: [1],
  devices: ['gpu-1 · GPU 1'],
  explains: ['Time lost to heat; XID 43: GPU stopped processing'],
  since: [1_700_000_000_000],
});

beforeEach(() => {
  resetGrafana();
  grafana.source = new FakeSource({ health: [HEALTH, INCIDENTS] });
});

const show = (address = '/') => showAt(address, '/', <HealthPage />);
const list = async () => within(await screen.findByRole('region', { name: 'GPUs and nodes' }));

test('what needs somebody comes first, and leads to what to do', async () => {
  show();
  const table = await list();
  const rows = table.getAllByRole('row').slice(1);
  expect(rows.map((row) => within(row).getAllByRole('cell')[1].textContent)).toEqual(['Critical', 'Unknown']);
  expect(table.getByText('The GPU has fallen off the bus')).toBeInTheDocument();
  expect(table.getByRole('link', { name: 'GPU 1' })).toHaveAttribute(
    'href',
    '/a/warpwatch-gpu-app/fleet/nodes/north/gpu-1/gpus/GPU-b'
  );
  expect(table.getByRole('link', { name: 'Runbook' })).toHaveAttribute('href', '/a/warpwatch-gpu-app/runbooks/xid-79');
  expect(
    within(screen.getByRole('region', { name: 'Incidents now: 1' })).getByText('One GPU is lost')
  ).toBeInTheDocument();
  expect(screen.getByText(/explains: Time lost to heat; XID 43: GPU stopped processing/)).toBeInTheDocument();
});

test('a row opens to say why, with what was not measured', async () => {
  show();
  const table = await list();
  await testUser().click(table.getAllByRole('button', { name: /Toggle row expanded|expand/i })[0]);
  expect(await table.findByText('XID 79 at 22:42')).toBeInTheDocument();
  expect(table.getByText('gpu_ecc_errors')).toBeInTheDocument();
  expect(table.getByText('40 % (no prediction)')).toBeInTheDocument();
});

test('counts are of all and filter the list; the address keeps the choice', async () => {
  const address = show('/?ds=gpu&cluster=north');
  const counts = within(await screen.findByRole('group', { name: 'Severities' }));
  expect(counts.getAllByRole('button').map(({ textContent }) => textContent?.trim())).toEqual(
    ['1 Critical', '0 Warning', '1 Unknown', '0 Info', '1 OK', '3All'].map((text) =>
      expect.stringMatching(new RegExp(text.replace(' ', '\\s*')))
    )
  );
  await testUser().click(counts.getByRole('button', { name: /OK/ }));
  expect(address()).toBe('/?ds=gpu&cluster=north&severity=ok');
  expect((await list()).getByRole('link', { name: 'GPU 0' })).toBeInTheDocument();
  expect(grafana.source.queries[0]).toMatchObject({ queryType: 'health', clusters: ['north'], live: false });
});

test('that all is well is only said of what was judged', async () => {
  grafana.source.answers.health = [
    tableFrame('health', { cluster: ['north'], node: ['gpu-1'], gpu: ['0'], gpu_uuid: ['GPU-a'], severity: ['ok'] }),
  ];
  show();
  expect(await screen.findByText('None of 1 GPUs, MIG instances and nodes needs you')).toBeInTheDocument();
});

test('where not all was seen, nothing to see is no good news', async () => {
  const well = tableFrame('health', { cluster: ['north'], node: ['gpu-1'], gpu: ['0'], severity: ['ok'] });
  grafana.source.answers.health = [{ ...well, meta: { notices: [{ severity: 'warning', text: 'south: refused' }] } }];
  show();
  expect(await screen.findByText(/None of the 1 that were judged needs you, but not all is known/)).toBeInTheDocument();
});

test('no GPU at all is not well', async () => {
  grafana.source.answers.health = [tableFrame('health', { severity: [] })];
  show();
  expect(await screen.findByText('No GPU is known')).toBeInTheDocument();
  expect(screen.getByText(/says nothing about the health/)).toBeInTheDocument();
  expect(screen.getByRole('link', { name: 'Look where data comes from' })).toHaveAttribute('href', PATHS.coverage);
  expect(screen.getByRole('link', { name: 'Open the setup guide' })).toHaveAttribute('href', PATHS.setup);
});

test('a partial answer says what it lacks', async () => {
  const partial = { ...HEALTH, meta: { notices: [{ severity: 'warning' as const, text: 'south: refused' }] } };
  grafana.source.answers.health = [partial];
  show();
  expect(await screen.findByText('south: refused')).toBeInTheDocument();
  expect((await list()).getByText('The GPU has fallen off the bus')).toBeInTheDocument();
});

test('an answer that failed gives its reason', async () => {
  grafana.source.answers.health = new Error('all clusters refuse');
  show();
  expect(await screen.findByText('all clusters refuse')).toBeInTheDocument();
});

test('without a data source it says how to begin', () => {
  grafana.sources = [];
  show();
  expect(screen.getByRole('region', { name: 'Getting started' })).toBeInTheDocument();
});
