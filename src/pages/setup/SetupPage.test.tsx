import { type PluginInclude, PluginIncludeType } from '@grafana/data';
import { screen, waitFor, within } from '@testing-library/react';
import React from 'react';
import { of, throwError } from 'rxjs';

import { testUser } from '../../test/testUser';
import { showAt } from '../test/show';
import groups from './recorded.json';
import { SetupPage } from './SetupPage';

interface Request {
  url: string;
  method: string;
  data?: unknown;
}

const mockGrafana = {
  sources: [] as Array<{ uid: string; name: string; type: string }>,
  user: {} as { orgRole: string; isGrafanaAdmin: boolean; permissions?: Record<string, boolean> },
  answers: {} as Record<string, unknown>,
  asked: [] as Request[],
  reload: jest.fn(),
};

jest.mock('@grafana/runtime', () => ({
  PluginPage: ({ actions, children }: { actions: React.ReactNode; children: React.ReactNode }) => (
    <main>
      {actions}
      {children}
    </main>
  ),
  config: {
    get bootData() {
      return { user: mockGrafana.user };
    },
  },
  getDataSourceSrv: () => ({
    getList: ({ type }: { type: string }) => mockGrafana.sources.filter((source) => source.type === type),
    reload: mockGrafana.reload,
  }),
  getBackendSrv: () => ({
    fetch: (request: Request) => {
      mockGrafana.asked.push(request);
      const found = mockGrafana.answers[`${request.method} ${request.url}`];
      const failed = found === undefined || found instanceof Error;
      return failed ? throwError(() => found ?? new Error(`nobody answers ${request.url}`)) : of({ data: found });
    },
  }),
  isFetchError: () => false,
}));

const INCLUDES = [
  { type: PluginIncludeType.dashboard, name: 'GPU node live', uid: 'node-live' },
  { type: PluginIncludeType.dashboard, name: 'GPU job', uid: 'job' },
  { type: PluginIncludeType.page, name: 'Health' },
] as PluginInclude[];

const SOURCE = '/api/datasources/uid/gpu';

const CONNECTED = {
  [`GET ${SOURCE}/health`]: {
    status: 'OK',
    message: '2 of 2 servers answer',
    details: { verboseMessage: 'north: Prometheus 3.8.0\nsouth: Prometheus 3.8.0' },
  },
  [`GET ${SOURCE}/resources/coverage`]: {
    rows: [
      {
        cluster: 'north',
        metric: 'gpu_power_watts',
        subject: 'device',
        status: 'ok',
        covered: 96,
        exporters: 12,
        dialect: 'dcgm',
      },
    ],
    notices: [],
  },
  [`GET ${SOURCE}/resources/agents/page`]: { agents: [], matched: 0, states: { idle: 12 }, sources: [], notices: [] },
  [`GET ${SOURCE}/resources/rules`]: {
    servers: [{ server: 'n', cluster: 'north', recorded: groups.flatMap(({ records }) => records) }],
    notices: [],
  },
  'GET /api/search': [{ uid: 'node-live' }, { uid: 'job' }],
};

beforeEach(() => {
  mockGrafana.sources = [{ uid: 'gpu', name: 'GPUs', type: 'warpwatch-gpu-datasource' }];
  mockGrafana.user = { orgRole: 'Admin', isGrafanaAdmin: false };
  mockGrafana.answers = { ...CONNECTED };
  mockGrafana.asked = [];
  mockGrafana.reload.mockClear();
});

const show = (address = '/') => showAt(address, '/', <SetupPage includes={INCLUDES} />);
const step = (name: string) => within(screen.getByRole('region', { name }));

test('what is there already is said to be done, with evidence', async () => {
  show();
  expect(await screen.findByText('All four steps are done.')).toBeInTheDocument();
  expect(step('Connect Prometheus').getByText('north: Prometheus 3.8.0')).toBeInTheDocument();
  const agents = step('Find agents');
  expect(agents.getByRole('row', { name: /north dcgm-exporter 12 96/ })).toBeInTheDocument();
  expect(agents.getByText(/12 Warpwatch agents are known/)).toBeInTheDocument();
  expect(step('Enable dashboards').getByRole('link', { name: 'GPU job' })).toHaveAttribute('href', '/d/job');
  expect(step('Load rules').getByRole('row', { name: /north Jobs and namespaces 2 of 2/ })).toBeInTheDocument();
});

test('with nothing there every step is to do, and nothing is asked of a data source that is not there', async () => {
  mockGrafana.sources = [];
  mockGrafana.answers = { 'GET /api/search': [] };
  show();
  expect(await screen.findByText('0 of 4 steps are done.')).toBeInTheDocument();
  expect(await screen.findAllByText('To do')).toHaveLength(4);
  expect(mockGrafana.asked.map(({ url }) => url)).toEqual(['/api/search']);
  expect(step('Find agents').getByText('systemctl enable --now warpwatch-agent', { exact: false })).toBeInTheDocument();
});

test('a data source is made after one of Prometheus once that is confirmed, and without its secrets', async () => {
  mockGrafana.sources = [{ uid: 'prom', name: 'Lab Prometheus', type: 'prometheus' }];
  mockGrafana.answers = {
    'GET /api/search': [],
    'GET /api/datasources/uid/prom': {
      name: 'Lab Prometheus',
      url: 'http://prometheus:9090',
      basicAuth: true,
      basicAuthUser: 'grafana',
      jsonData: { tlsSkipVerify: true, httpHeaderName1: 'X-Scope-OrgID' },
      secureJsonFields: { basicAuthPassword: true, httpHeaderValue1: true },
    },
    'POST /api/datasources': { datasource: { uid: 'new' } },
  };
  const user = testUser();
  show();
  const connect = step('Connect Prometheus');
  const cluster = await connect.findByLabelText(/Cluster/);
  expect(connect.getByLabelText(/^Prometheus/)).toHaveValue('http://prometheus:9090');
  expect(connect.getByText(/the password, the value of the header X-Scope-OrgID/)).toBeInTheDocument();
  expect(mockGrafana.asked.some(({ method }) => method === 'POST')).toBe(false);
  await user.clear(cluster);
  await user.type(cluster, 'north');
  await user.click(connect.getByRole('button', { name: 'Create data source' }));
  expect(await connect.findByRole('link', { name: 'Open its settings' })).toHaveAttribute(
    'href',
    '/connections/datasources/edit/new'
  );
  expect(mockGrafana.asked.find(({ method }) => method === 'POST')?.data).toEqual({
    name: 'Warpwatch GPU',
    type: 'warpwatch-gpu-datasource',
    access: 'proxy',
    jsonData: {
      clusters: [
        {
          name: 'north',
          endpoints: [
            { id: 'north', url: 'http://prometheus:9090', auth: 'basic', user: 'grafana', tlsSkipVerify: true },
          ],
        },
      ],
    },
  });
  expect(mockGrafana.reload).toHaveBeenCalled();
});

test('a data source that Grafana refuses is told of, and nothing is lost', async () => {
  mockGrafana.sources = [];
  mockGrafana.answers = { 'GET /api/search': [], 'POST /api/datasources': new Error('name is taken') };
  const user = testUser();
  show();
  const connect = step('Connect Prometheus');
  await user.type(await connect.findByLabelText(/^Prometheus/), 'http://prometheus:9090');
  await user.click(connect.getByRole('button', { name: 'Create data source' }));
  expect(await connect.findByText('name is taken')).toBeInTheDocument();
  expect(connect.getByLabelText(/^Prometheus/)).toHaveValue('http://prometheus:9090');
});

test('who may not do something is told who can', async () => {
  mockGrafana.sources = [];
  mockGrafana.user = { orgRole: 'Viewer', isGrafanaAdmin: false, permissions: { 'datasources:query': true } };
  mockGrafana.answers = { 'GET /api/search': [] };
  show();
  expect(await screen.findByText(/You may look, copy and download/)).toBeInTheDocument();
  expect(await step('Connect Prometheus').findByText(/Ask an administrator/)).toBeInTheDocument();
  expect(screen.queryByRole('button', { name: 'Create data source' })).not.toBeInTheDocument();
  expect(await step('Enable dashboards').findByText(/ask one of this organisation/)).toBeInTheDocument();
  expect(screen.queryByRole('link', { name: 'Import dashboards' })).not.toBeInTheDocument();
});

test('what cannot be asked is not known, and the other steps go on', async () => {
  mockGrafana.answers = {
    ...CONNECTED,
    [`GET ${SOURCE}/resources/rules`]: new Error('rules refused'),
    [`GET ${SOURCE}/resources/coverage`]: new Error('coverage refused'),
    'GET /api/search': new Error('search refused'),
  };
  show();
  for (const text of ['rules refused', 'coverage refused', 'search refused']) {
    expect(await screen.findByText(text)).toBeInTheDocument();
  }
  expect(step('Load rules').getByText('Not known')).toBeInTheDocument();
  expect(await screen.findByText('1 of 4 steps are done.')).toBeInTheDocument();
});

test('dashboards that are missing lead to where they are imported', async () => {
  mockGrafana.answers['GET /api/search'] = [{ uid: 'node-live' }];
  show();
  const dashboards = step('Enable dashboards');
  expect(await dashboards.findByText(/1 of 2 dashboards are there/)).toBeInTheDocument();
  expect(dashboards.getByRole('link', { name: 'Import dashboards' })).toHaveAttribute(
    'href',
    '/plugins/warpwatch-gpu-app?page=dashboards'
  );
});

test('the environment and the format of rules are in the address', async () => {
  const address = show('/?on=slurm');
  const agents = step('Find agents');
  expect(agents.getByText('Prolog=/etc/slurm/warpwatch/prolog.sh', { exact: false })).toBeInTheDocument();
  await testUser().click(agents.getByRole('tab', { name: 'Kubernetes' }));
  expect(address()).toBe('/?on=kubernetes');
  expect(agents.getByText(/helm -n warpwatch install/)).toBeInTheDocument();
  await testUser().click(step('Load rules').getByRole('radio', { name: 'Grafana' }));
  expect(address()).toBe('/?on=kubernetes&rules=grafana');
  expect(step('Load rules').getByRole('button', { name: 'Recording rules' })).toBeDisabled();
});

test('rules are kept as files', async () => {
  const texts: Blob[] = [];
  URL.createObjectURL = (blob: Blob) => {
    texts.push(blob);
    return 'blob:rules';
  };
  URL.revokeObjectURL = () => undefined;
  const names: string[] = [];
  const click = jest.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    names.push(this.download);
  });
  show();
  await testUser().click(step('Load rules').getByRole('button', { name: 'Alerts on health' }));
  await waitFor(() => expect(names).toEqual(['warpwatch-alerts.rules.yaml']));
  expect(texts[0].type).toBe('application/yaml;charset=utf-8');
  click.mockRestore();
});

test('what changed is seen by looking again', async () => {
  mockGrafana.answers['GET /api/search'] = [];
  show();
  expect(await screen.findByText(/0 of 2 dashboards/)).toBeInTheDocument();
  mockGrafana.answers['GET /api/search'] = CONNECTED['GET /api/search'];
  await testUser().click(screen.getByRole('button', { name: 'Look again' }));
  expect(await screen.findByText('All 2 dashboards are there.')).toBeInTheDocument();
});
