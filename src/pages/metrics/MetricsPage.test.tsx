import { screen, within } from '@testing-library/react';
import React from 'react';

import { testUser } from '../../test/testUser';
import { grafana, resetGrafana } from '../test/runtime';
import { showAt } from '../test/show';
import { MetricsPage } from './MetricsPage';

jest.mock('@grafana/runtime', () => jest.requireActual('../test/runtime').runtime);

const METRIC = {
  name: 'gpu_power_watts',
  unit: 'watt',
  kind: 'gauge',
  family: 'Power',
  help: 'Power drawn by the board',
  caveat: 'Averaged over a second on some models',
  nvidiaSmi: 'power.draw',
  aggregations: ['avg', 'sum'],
  subject: 'device',
};

const ECC = { ...METRIC, name: 'gpu_ecc_errors', family: 'Memory errors', help: 'Errors', caveat: '', nvidiaSmi: '' };

beforeEach(() => {
  resetGrafana();
  grafana.resources = {
    ...grafana.resources,
    metrics: [METRIC, ECC],
    coverage: {
      rows: [
        {
          cluster: 'north',
          endpoint: 'a',
          metric: 'gpu_power_watts',
          status: 'ok',
          covered: 8,
          total: 8,
          dialect: 'dcgm',
          series: 'DCGM_FI_DEV_POWER_USAGE',
          why: '',
          enable: '',
        },
        {
          cluster: 'north',
          endpoint: 'a',
          metric: 'gpu_ecc_errors',
          status: 'missing',
          covered: 0,
          total: 8,
          dialect: '',
          series: '',
          why: 'nobody exports it',
          enable: 'DCGM_FI_DEV_ECC_SBE_VOL_TOTAL, counter, ecc',
        },
      ],
      notices: [],
    },
  };
});

const show = (address = '/metrics') => showAt(address, '/metrics/:name?', <MetricsPage />);

test('a metric has meaning, caveat, its name in nvidia-smi and where it comes from', async () => {
  show();
  const power = within(await screen.findByRole('listitem', { name: 'gpu_power_watts' }));
  expect(power.getByText('Power drawn by the board')).toBeInTheDocument();
  expect(power.getByText('Averaged over a second on some models')).toBeInTheDocument();
  expect(power.getByText('power.draw')).toBeInTheDocument();
  expect(await power.findByText(/DCGM_FI_DEV_POWER_USAGE · 8 of 8 devices/)).toBeInTheDocument();
  expect(power.getByRole('link', { name: 'Explore' })).toHaveAttribute(
    'href',
    expect.stringContaining(encodeURIComponent('"metric":"gpu_power_watts"'))
  );
});

test('one that is missing has the line that lights it', async () => {
  show();
  const ecc = within(await screen.findByRole('listitem', { name: 'gpu_ecc_errors' }));
  expect(await ecc.findByRole('button', { name: /^Copy DCGM_FI_DEV_ECC_SBE_VOL_TOTAL/ })).toBeInTheDocument();
});

test('the search looks at what nvidia-smi calls it, and the address keeps it', async () => {
  const address = show();
  await screen.findByRole('listitem', { name: 'gpu_ecc_errors' });
  await testUser().type(screen.getByRole('textbox', { name: 'Search metrics' }), 'power.draw');
  expect(screen.queryByRole('listitem', { name: 'gpu_ecc_errors' })).not.toBeInTheDocument();
  expect(address()).toBe('/metrics?search=power.draw');
});

test('an address of one metric shows that one', async () => {
  show('/metrics/gpu_ecc_errors');
  expect(await screen.findByRole('listitem', { name: 'gpu_ecc_errors' })).toBeInTheDocument();
  expect(screen.queryByRole('listitem', { name: 'gpu_power_watts' })).not.toBeInTheDocument();
  await testUser().clear(screen.getByRole('textbox', { name: 'Search metrics' }));
  expect(screen.getByRole('textbox', { name: 'Search metrics' })).toHaveValue('');
  expect(screen.getByRole('listitem', { name: 'gpu_power_watts' })).toBeInTheDocument();
});

test('the catalogue is shown also where coverage is not known', async () => {
  grafana.resources.coverage = new Error('no endpoint answers');
  show();
  expect(await screen.findByText('no endpoint answers')).toBeInTheDocument();
  expect(screen.getByRole('listitem', { name: 'gpu_power_watts' })).toBeInTheDocument();
});
