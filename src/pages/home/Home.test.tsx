import { type PluginInclude, PluginIncludeType } from '@grafana/data';
import { render, screen, within } from '@testing-library/react';
import React, { type ReactNode } from 'react';
import { of, throwError } from 'rxjs';

import { testUser } from '../../test/testUser';
import { Home } from './Home';

const mockFetch = jest.fn();
let mockSources: Array<{ uid: string; name: string; type: string }> = [];

jest.mock('@grafana/runtime', () => ({
  PluginPage: ({ children }: { children: ReactNode }) => <main>{children}</main>,
  getDataSourceSrv: () => ({ getList: () => mockSources }),
  getBackendSrv: () => ({ fetch: mockFetch }),
  isFetchError: (error: unknown) => typeof error === 'object' && error !== null && 'status' in error,
}));

const INCLUDES = [
  { type: PluginIncludeType.dashboard, name: 'GPU node live', uid: 'warpwatch-gpu-node-live' },
  { type: PluginIncludeType.page, name: 'Home' },
] as PluginInclude[];

const AGENT = {
  cluster: 'north',
  node: 'gpu-1',
  address: 'gpu-1:9847',
  state: 'connected',
  error: '',
  version: '0.1.0',
  source: 'nvml',
  periodMs: 1000,
  clockOffsetMs: 2500,
  devices: 8,
};

/** Answers by the end of the path; an Error or a response that failed is thrown. */
function answer(answers: Record<string, unknown>) {
  mockFetch.mockImplementation(({ url }: { url: string }) => {
    const [, found] = Object.entries(answers).find(([path]) => url.endsWith(path)) ?? [];
    const failed =
      found instanceof Error || (typeof found === 'object' && found !== null && 'status' in found && 'data' in found);
    return failed ? throwError(() => found) : of({ data: found });
  });
}

const HEALTHY = {
  status: 'OK',
  message: '2 of 2 servers answer',
  details: { verboseMessage: 'north-a: Prometheus 3.5\nnorth-b: Prometheus 3.4' },
};

async function show() {
  render(<Home includes={INCLUDES} />);
  return within(await screen.findByRole('region', { name: 'Data source GPUs' }));
}

beforeEach(() => {
  mockFetch.mockReset();
  mockSources = [
    { uid: 'gpu', name: 'GPUs', type: 'warpwatch-gpu-datasource' },
    { uid: 'grafana', name: '-- Grafana --', type: 'datasource' },
  ];
});

test('without a data source it says how to begin', () => {
  mockSources = [];
  render(<Home includes={INCLUDES} />);
  expect(screen.getByRole('region', { name: 'Getting started' })).toBeInTheDocument();
  expect(screen.getByRole('link', { name: /Add a Warpwatch GPU data source/ })).toHaveAttribute(
    'href',
    '/connections/datasources/warpwatch-gpu-datasource'
  );
});

test('with one it leads to the dashboards and shows servers and agents', async () => {
  answer({
    health: HEALTHY,
    agents: [AGENT, { ...AGENT, node: 'gpu-2', state: 'unreachable', error: 'connection refused' }],
  });
  const source = await show();
  expect(screen.getByRole('link', { name: 'GPU node live' })).toHaveAttribute('href', '/d/warpwatch-gpu-node-live');
  expect(screen.queryByRole('link', { name: 'Home' })).not.toBeInTheDocument();
  expect(await source.findByText('Working')).toBeInTheDocument();
  expect(source.getByText('north-b: Prometheus 3.4')).toBeInTheDocument();
  expect(await source.findByText('Connected')).toBeInTheDocument();
  expect(source.getByText('2.5 s ahead')).toBeInTheDocument();
  expect(source.getByText('Unreachable')).toBeInTheDocument();
  expect(source.getByText('connection refused')).toBeInTheDocument();
  expect(screen.queryByText('-- Grafana --')).not.toBeInTheDocument();
  expect(mockFetch.mock.calls.map(([{ url }]) => url)).toEqual([
    '/api/datasources/uid/gpu/health',
    '/api/datasources/uid/gpu/resources/agents',
  ]);

  answer({ health: HEALTHY, agents: [] });
  await testUser().click(source.getByRole('button', { name: 'Check again' }));
  expect(await source.findByText('No agent is known')).toBeInTheDocument();
});

test('a data source that is unwell says so in its own words', async () => {
  const data = {
    status: 'ERROR',
    message: 'No server answers',
    details: { verboseMessage: 'north-a: connection refused' },
  };
  answer({ health: { status: 400, data }, agents: [] });
  const source = await show();
  expect(await source.findByText('No server answers')).toBeInTheDocument();
  expect(source.getByText('Needs attention')).toBeInTheDocument();
  expect(source.getByText('north-a: connection refused')).toBeInTheDocument();
  expect(await source.findByText('No agent is known')).toBeInTheDocument();
});

test('what cannot be asked is an error of its own, beside what can', async () => {
  answer({
    health: { status: 403, data: {}, statusText: 'Forbidden' },
    agents: { status: 502, data: { error: 'plugin is down' } },
  });
  const source = await show();
  expect(await source.findByText('Forbidden')).toBeInTheDocument();
  expect(await source.findByText('plugin is down')).toBeInTheDocument();
});
