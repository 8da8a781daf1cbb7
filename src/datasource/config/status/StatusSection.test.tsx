import { getBackendSrv } from '@grafana/runtime';
import { act, screen, within } from '@testing-library/react';
import { of, throwError } from 'rxjs';

import { showPage } from '../test/page';
import { type Health } from './health';

jest.mock('@grafana/runtime', () => ({ ...jest.requireActual('@grafana/runtime'), getBackendSrv: jest.fn() }));

const fetch = jest.fn();
beforeEach(() => {
  fetch.mockReset();
  (getBackendSrv as jest.Mock).mockReturnValue({ fetch });
});

const SAVED = { jsonData: { clusters: [{ name: 'north', endpoints: [{ id: 'north-a', url: 'http://a:9090' }] }] } };

const GOOD: Health = {
  status: 'OK',
  message: 'fine',
  details: {
    servers: [
      {
        id: 'north-a',
        cluster: 'north',
        replica: false,
        flavour: 'Mimir',
        version: '2.17',
        latencyMs: 0.4,
        exporters: ['dcgm'],
        next: [],
        error: '',
      },
    ],
    alertmanagers: [],
    unknown: [],
  },
};

const row = (name: RegExp) => within(screen.getByRole('row', { name }));

test('before the first save there is nothing to read; a save checks by itself', async () => {
  fetch.mockReturnValue(of({ data: GOOD }));
  const { press, save } = showPage();
  await press('Add cluster');
  expect(screen.queryByText('Connections')).not.toBeInTheDocument();
  expect(fetch).not.toHaveBeenCalled();
  act(save);
  expect(await screen.findByText('Mimir 2.17')).toBeInTheDocument();
  expect(fetch).toHaveBeenCalledWith(expect.objectContaining({ url: '/api/datasources/uid/gpu/health' }));
  expect(row(/north-a/).getByText('1 ms')).toBeInTheDocument();
  expect(row(/north-a/).getByText('Nothing to do')).toBeInTheDocument();
});

test('what is wrong is an answer, too: each server and agent says what to do next', async () => {
  const [server] = GOOD.details?.servers ?? [];
  const data: Health = {
    status: 'ERROR',
    message: 'north-a failed',
    details: {
      servers: [{ ...server, error: 'endpoint north-a: it refuses connections: check that it runs' }],
      agents: {
        known: 3,
        connected: 1,
        gpus: 8,
        tried: [agent('gpu-1', 'connected', ''), agent('gpu-2', 'refused', 'add gpu-2 to agents.allow')],
        notes: ['Agents by prometheus: 3 found.'],
      },
      alertmanagers: ['Alertmanager alerts ok: 1 alerts, 0 silences'],
      unknown: ['agents.alow'],
    },
  };
  fetch.mockReturnValue(throwError(() => ({ status: 400, data })));
  const { press } = showPage(SAVED);
  await press('Check connections');
  expect(await screen.findByText('north-a failed')).toBeInTheDocument();
  expect(row(/north-a/).getByText(/check that it runs/)).toBeInTheDocument();
  expect(screen.getByText('1 of 2 agents connected, 8 GPUs')).toBeInTheDocument();
  expect(screen.getByText('Tried 2 of 3 agents.')).toBeInTheDocument();
  const [, first] = within(screen.getAllByRole('table')[1]).getAllByRole('row');
  expect(first).toHaveTextContent('add gpu-2 to agents.allow');
  for (const text of [
    'agents.alow',
    'Agents by prometheus: 3 found.',
    'Alertmanager alerts ok: 1 alerts, 0 silences',
  ]) {
    expect(screen.getByText(text)).toBeInTheDocument();
  }
  fetch.mockReturnValue(of({ data: GOOD }));
  await press('Check again');
  expect(await screen.findByText('Nothing to do')).toBeInTheDocument();
});

test('settings that cannot be used are listed line by line', async () => {
  const data: Health = {
    status: 'ERROR',
    message: 'no',
    details: { servers: null, verboseMessage: 'a: is empty\nb: is wrong' },
  };
  fetch.mockReturnValue(throwError(() => ({ status: 400, data })));
  const { press } = showPage(SAVED);
  await press('Check connections');
  expect(await screen.findByText('a: is empty')).toBeInTheDocument();
  expect(screen.getByText('b: is wrong')).toBeInTheDocument();
});

test('a check that cannot be made says why', async () => {
  fetch.mockReturnValue(throwError(() => ({ status: 502, data: { message: 'the plugin is not there' } })));
  const { press } = showPage(SAVED);
  await press('Check connections');
  expect(await screen.findByText('the plugin is not there')).toBeInTheDocument();
});

function agent(node: string, state: 'connected' | 'refused', error: string) {
  return {
    cluster: 'north',
    node,
    address: `${node}:9847`,
    state,
    error,
    version: '0.9.0',
    source: 'nvml',
    periodMs: 1000,
    clockOffsetMs: 0,
    devices: 8,
  };
}
