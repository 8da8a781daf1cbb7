import { fireEvent, screen, within } from '@testing-library/react';
import React from 'react';

import { testUser } from '../../test/testUser';
import { FakeSource, rowFrame } from '../test/fakeSource';
import { grafana, resetGrafana } from '../test/runtime';
import { showAt } from '../test/show';
import { JobsPage } from './JobsPage';

jest.mock('@grafana/runtime', () => jest.requireActual('../test/runtime').runtime);

beforeEach(() => {
  resetGrafana();
  grafana.source = new FakeSource({
    stragglers: [
      rowFrame('stragglers', [
        {
          cluster: 'north',
          namespace: 'ml',
          job: 'train',
          severity: 'warning',
          reason: 'Rank 3 is slow',
          evidence: 'n1 · GPU 3: its clock is 22 % below the others',
          goodput: 0.93,
        },
      ]),
    ],
    train_loss: [rowFrame('train_loss', [{ cluster: 'north', namespace: 'ml', pod: 'train-0', train_loss: 2.5 }])],
    efficiency: [
      rowFrame('efficiency', [{ namespace: 'ml', gpus: 8, idle_hours: 4 }]),
      rowFrame('efficiency_idle', [{ cluster: 'north', node: 'n1', gpu: '0', gpu_uuid: 'GPU-a', owner: 'ml/idle' }]),
    ],
  });
});

const show = (address = '/jobs') => showAt(address, '/jobs', <JobsPage />);
const region = async (name: string) => within(await screen.findByRole('region', { name }));

test('a job has its verdict beside what it tells of itself, and leads to its page', async () => {
  show('/jobs?namespace=ml&from=now-1h&to=now');
  const jobs = await region('Jobs');
  expect(await jobs.findByRole('link', { name: 'train' })).toHaveAttribute(
    'href',
    '/a/warpwatch-gpu-app/jobs/north/ml/train?from=now-1h&to=now'
  );
  expect(jobs.getByText('Rank 3 is slow')).toBeInTheDocument();
  expect(jobs.getByText('loss 2.50')).toBeInTheDocument();
  expect(jobs.queryByText(/KV cache/)).not.toBeInTheDocument();
  expect(grafana.source.queries.every(({ namespaces }) => namespaces?.[0] === 'ml')).toBe(true);
});

test('a job opens to say why it has its verdict', async () => {
  show();
  const jobs = await region('Jobs');
  await testUser().click(await jobs.findByRole('button', { name: /Toggle row expanded|expand/i }));
  expect(jobs.getByText(/its clock is 22 % below/)).toBeInTheDocument();
});

test('what is nowhere known has no column', async () => {
  show();
  const time = within((await screen.findAllByRole('region', { name: /^GPU time by/ }))[0]);
  expect(await time.findByRole('columnheader', { name: /idle/ })).toBeInTheDocument();
  expect(time.queryByRole('columnheader', { name: /Cost/ })).not.toBeInTheDocument();
});

test('GPU time can be split otherwise, which the address keeps', async () => {
  const address = show();
  await testUser().click(await screen.findByRole('radio', { name: 'User' }));
  expect(address()).toBe('/jobs?by=user');
  expect(grafana.source.queries.at(-1)).toMatchObject({ queryType: 'efficiency', options: { by: ['user'] } });
});

test('without jobs it says what has to be exported', async () => {
  grafana.source = new FakeSource();
  show();
  expect(await (await region('Jobs')).findByText(/nothing reports train_… or serve_… metrics/)).toBeInTheDocument();
  expect(await screen.findByText(/Its framework’s metrics have to be scraped/)).toBeInTheDocument();
});

test('what cannot be answered is said, and the rest of the page stays', async () => {
  grafana.source.answers.efficiency = new Error('north refuses');
  show();
  expect((await screen.findAllByText('north refuses')).length).toBeGreaterThan(0);
  expect(await (await region('Jobs')).findByText('Rank 3 is slow')).toBeInTheDocument();
});

test('pages of a long list are named after it, and are not turned on paper', async () => {
  const jobs = Array.from({ length: 30 }, (_, i) => ({
    cluster: 'north',
    namespace: 'ml',
    job: `j${i}`,
    severity: 'ok',
  }));
  grafana.source.answers.stragglers = [rowFrame('stragglers', jobs)];
  show();
  const list = await region('Jobs');
  expect(await list.findByRole('navigation', { name: 'Pages of Jobs' })).toBeInTheDocument();
  expect(list.getAllByRole('row')).toHaveLength(26);
  fireEvent(window, new Event('beforeprint'));
  // With the job that only tells its loss.
  expect(list.getAllByRole('row')).toHaveLength(32);
  fireEvent(window, new Event('afterprint'));
  expect(list.getAllByRole('row')).toHaveLength(26);
});
