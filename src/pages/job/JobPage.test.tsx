import { screen, within } from '@testing-library/react';
import React from 'react';

import { FakeSource, rowFrame } from '../test/fakeSource';
import { grafana, resetGrafana } from '../test/runtime';
import { showAt } from '../test/show';
import { JobPage } from './JobPage';

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

const JOB = { cluster: 'north', namespace: 'ml', job: 'train' };
const rank = (number: string, seconds: number) => ({
  cluster: 'north',
  namespace: 'ml',
  pod: `train-${number}`,
  rank: number,
  node: 'n1',
  train_step_seconds: seconds,
});

beforeEach(() => {
  resetGrafana();
  grafana.source = new FakeSource({
    stragglers: [
      rowFrame('stragglers', [
        {
          ...JOB,
          job: 'other',
          severity: 'critical',
          reason: 'Not of this job',
          evidence: '',
          goodput: 0.1,
          notes: '',
        },
        {
          ...JOB,
          severity: 'warning',
          reason: 'Rank 3 is slow',
          evidence: 'Its clock is low',
          goodput: 0.93,
          notes: '',
        },
      ]),
      rowFrame('stragglers_suspects', [
        {
          ...JOB,
          kind: 'rank',
          rank: '3',
          node: 'n1',
          gpu: '3',
          gpu_uuid: 'GPU-d',
          ratio: 1.25,
          evidence: 'Step 1.25 s',
        },
        { ...JOB, job: 'other', kind: 'rank', rank: '9', node: 'n9', gpu: '', gpu_uuid: '', ratio: 2, evidence: '' },
      ]),
    ],
    train_step_seconds: [rowFrame('train_step_seconds', [rank('0', 1), rank('1', 1), rank('3', 1.25)])],
    inventory: [rowFrame('inventory', [{ cluster: 'north', node: 'n1', gpu: '0', gpu_uuid: 'GPU-a', mig_id: '' }])],
    memory: [
      rowFrame('memory', [{ cluster: 'north', node: 'n1', severity: 'info', reason: 'Near full', headroom: 1e9 }]),
    ],
    efficiency: [rowFrame('efficiency', [{ gpus: 8, allocated_hours: 48, cost_allocated: 120 }])],
  });
});

const show = (address: string) => showAt(address, '/jobs/:cluster/:namespace/:job', <JobPage />);
const region = async (name: string) => within(await screen.findByRole('region', { name }));

test('a job says who slows it down, on what evidence, and where its time goes', async () => {
  show('/jobs/north/ml/train');
  expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent('train');
  const verdict = await region('Who slows it down');
  expect(await verdict.findByText('Rank 3 is slow')).toBeInTheDocument();
  expect(verdict.getByText('Its clock is low')).toBeInTheDocument();
  expect(verdict.getByText('93%')).toBeInTheDocument();
  expect(verdict.queryByText('Not of this job')).not.toBeInTheDocument();
  const suspects = await region('Suspects');
  expect(suspects.getAllByRole('row')).toHaveLength(2);
  expect(suspects.getByRole('link', { name: 'GPU 3' })).toHaveAttribute(
    'href',
    '/a/warpwatch-gpu-app/fleet/nodes/north/n1/gpus/GPU-d'
  );
});

test('ranks are beside each other, and one that is far from the others is marked', async () => {
  show('/jobs/north/ml/train');
  const table = within(await screen.findByRole('group', { name: 'Ranks beside each other' }));
  const cells = table
    .getAllByRole('row')
    .slice(1)
    .map((row) => within(row).getAllByRole('cell').at(-1)?.textContent);
  expect(cells).toEqual([
    expect.not.stringContaining('▲'),
    expect.not.stringContaining('▲'),
    expect.stringContaining('▲'),
  ]);
});

test('its GPUs are those of the pods that its ranks are in', async () => {
  show('/jobs/north/ml/train');
  await region('Memory headroom');
  const memory = grafana.source.queries.find(({ queryType }) => queryType === 'memory');
  expect(memory).toMatchObject({ clusters: ['north'], namespaces: ['ml'], pods: ['train-0', 'train-1', 'train-3'] });
  expect(await screen.findByText(/^Step of each rank/)).toBeInTheDocument();
  expect(screen.getByText(/^Power .*"gpus":\["GPU-a"\]/)).toBeInTheDocument();
  expect(screen.queryByText(/^Loss/)).not.toBeInTheDocument();
});

test('where nothing is told of a job every part says what would tell it', async () => {
  grafana.source = new FakeSource();
  show('/jobs/-/-/4711');
  expect(await (await region('Ranks')).findByText(/Let each process report train_step_seconds/)).toBeInTheDocument();
  expect(await (await region('Progress')).findByText(/Have its framework’s metrics scraped/)).toBeInTheDocument();
  expect(await (await region('Who slows it down')).findByText(/It was not compared/)).toBeInTheDocument();
  expect(await screen.findByText(/Owners are told by the Warpwatch agent/)).toBeInTheDocument();
  expect(grafana.source.queries.every(({ jobs }) => jobs?.[0] === '4711')).toBe(true);
});
