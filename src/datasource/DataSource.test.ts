import {
  CoreApp,
  type DataQueryRequest,
  type DataQueryResponse,
  type DataSourceInstanceSettings,
  dateTime,
  LoadingState,
} from '@grafana/data';
import { config } from '@grafana/runtime';
import { firstValueFrom, type Observable, of } from 'rxjs';

import { DataSource } from './DataSource';
import { START, wideFrame } from './test/frames';
import { FakeLive } from './test/liveSrv';
import { fakeTemplateSrv } from './test/templateSrv';
import { type GpuQuery, type GpuSettings, type GpuVariableQuery } from './types';
import { GpuVariableSupport } from './variables/GpuVariableSupport';

const mockAsk = jest.fn<Observable<DataQueryResponse>, [DataQueryRequest<GpuQuery>]>();
const mockGetResource = jest.fn();
let mockLive: FakeLive;

jest.mock('./variables/VariableQueryEditor', () => ({ VariableQueryEditor: () => null }));

jest.mock('@grafana/runtime', () => ({
  StreamingFrameAction: { Append: 'append' },
  config: {},
  getGrafanaLiveSrv: () => mockLive,
  getTemplateSrv: jest.fn(),
  DataSourceWithBackend: class {
    uid: string;
    constructor({ uid }: DataSourceInstanceSettings) {
      this.uid = uid;
    }
    query(request: DataQueryRequest<GpuQuery>) {
      return mockAsk(request);
    }
    getResource(...args: unknown[]) {
      return mockGetResource(...args);
    }
    getRef() {
      return { type: 'warpwatch-gpu-datasource', uid: this.uid };
    }
  },
}));

const VARIABLES = { node: { value: ['a', 'b.c'], multi: true }, cluster: { value: 'north', text: 'All' } };

function dataSource(jsonData: GpuSettings = {}) {
  const settings = { uid: 'gpu', jsonData } as DataSourceInstanceSettings<GpuSettings>;
  return new DataSource(settings, fakeTemplateSrv(VARIABLES));
}

function request(part: Partial<DataQueryRequest<GpuQuery>> = {}): DataQueryRequest<GpuQuery> {
  const range = { from: dateTime(START - 1000), to: dateTime(START), raw: { from: 'now-1s', to: 'now' } };
  return { app: CoreApp.Dashboard, range, scopedVars: {}, targets: [], ...part } as DataQueryRequest<GpuQuery>;
}

beforeEach(() => {
  mockLive = new FakeLive();
  mockAsk.mockReset().mockReturnValue(of({ data: [wideFrame([[0, 1, 2]], { live: {} })] }));
  mockGetResource.mockReset();
  config.publicDashboardAccessToken = undefined;
  config.liveEnabled = true;
});

describe('query', () => {
  test('joins the stream that the backend names', async () => {
    const response = await firstValueFrom(dataSource().query(request()));
    expect(response.state).toBe(LoadingState.Streaming);
  });

  const absolute = { from: dateTime(START - 1000), to: dateTime(START) };
  test.each<[string, Partial<DataQueryRequest<GpuQuery>>]>([
    ['a rule', { app: CoreApp.UnifiedAlerting }],
    ['a rule in the cloud', { app: CoreApp.CloudAlerting }],
    ['a range that ends at a fixed moment', { range: { ...absolute, raw: absolute } }],
  ])('leaves the answer for %s static', async (_, part) => {
    const response = await firstValueFrom(dataSource().query(request(part)));
    expect(response.state).toBeUndefined();
    expect(mockLive.subscriptions).toHaveLength(0);
  });

  test('leaves the answer for a public dashboard static', async () => {
    config.publicDashboardAccessToken = 'token';
    await firstValueFrom(dataSource().query(request()));
    expect(mockLive.subscriptions).toHaveLength(0);
  });

  test('says when Grafana Live is turned off, unless only errors are wanted', async () => {
    config.liveEnabled = false;
    const notices = async (settings: GpuSettings) =>
      (await firstValueFrom(dataSource(settings).query(request()))).data[0].meta.notices;
    expect(await notices({})).toHaveLength(1);
    expect(await notices({ noticeLevel: 'error' })).toBeUndefined();
  });
});

describe('what is asked', () => {
  test.each<[Partial<GpuQuery>, boolean]>([
    [{ queryType: 'metric', metric: 'gpu_power_watts' }, true],
    [{ queryType: 'metric', metric: ' ' }, false],
    [{ queryType: 'promql', expr: 'up' }, true],
    [{ queryType: 'promql', expr: ' ', metric: 'gpu_power_watts' }, false],
    [{ expr: 'up' }, true],
    [{ queryType: 'inventory' }, true],
    [{ queryType: 'bottleneck', nodes: ['$node'] }, true],
    [{ queryType: 'health', options: { least: 'warning' } }, true],
    [{}, false],
  ])('%j is asked: %s', (query, asked) => {
    expect(dataSource().filterQuery({ refId: 'A', ...query })).toBe(asked);
  });

  test('a new query is complete', () => {
    const query = { refId: 'A', ...dataSource().getDefaultQuery(CoreApp.Dashboard) };
    expect(dataSource().filterQuery(query)).toBe(true);
    expect(query).toMatchObject({ schemaVersion: 1, queryType: 'metric' });
  });

  test('variables are replaced, and a query by hand gets its type', () => {
    const query = { refId: 'A', nodes: ['$node'], clusters: ['$cluster'], expr: 'up' };
    expect(dataSource().applyTemplateVariables(query, {})).toEqual({
      refId: 'A',
      queryType: 'promql',
      nodes: ['a', 'b.c'],
      clusters: [],
      expr: 'up',
    });
  });

  test('a judgement passes through as it was provisioned', () => {
    const provisioned: GpuQuery = {
      refId: 'A',
      schemaVersion: 1,
      queryType: 'bottleneck',
      nodes: ['b.c'],
      source: 'history',
      minStep: '1m',
      maxRows: 50,
      options: { of: 'gpus', limits: { holdSeconds: 60, list: [1, true, null] } },
    };
    expect(dataSource().applyTemplateVariables(provisioned, {})).toEqual(provisioned);
    expect(dataSource().interpolateVariablesInQueries([provisioned], {})[0]).toMatchObject(provisioned);
    expect(dataSource().getQueryDisplayText(provisioned)).toBe('bottleneck · nodes: b.c');
    expect(dataSource().targetContainsTemplate(provisioned)).toBe(false);
  });

  test('a query that leaves its dashboard carries values and its data source', () => {
    const [query] = dataSource().interpolateVariablesInQueries([{ refId: 'A', nodes: ['$node'] }], {});
    expect(query).toMatchObject({ nodes: ['a', 'b.c'], datasource: { uid: 'gpu' } });
  });

  test.each<[Partial<GpuQuery>, string]>([
    [{ metric: 'gpu_power_watts' }, 'gpu_power_watts'],
    [
      { metric: 'gpu_power_watts', aggregation: 'sum', aggregateBy: 'node', nodes: ['a', 'b'], models: ['H200'] },
      'gpu_power_watts (sum by node) · nodes: a, b · models: H200',
    ],
    [{ metric: 'gpu_power_watts', aggregateBy: 'cluster' }, 'gpu_power_watts by cluster'],
    [{ queryType: 'promql', expr: 'up == 0' }, 'up == 0'],
  ])('%j reads as %s', (query, text) => {
    expect(dataSource().getQueryDisplayText({ refId: 'A', ...query })).toBe(text);
  });

  test('targetContainsTemplate tells variables from macros', () => {
    expect(dataSource().targetContainsTemplate({ refId: 'A', nodes: ['$node'] })).toBe(true);
    expect(dataSource().targetContainsTemplate({ refId: 'A', expr: 'x[$__interval]' })).toBe(false);
  });
});

describe('variables', () => {
  const VALUES = [{ value: 'GPU-1', text: 'a · GPU 0 · H200' }];

  test('come from the backend, under the parents that the dashboard has chosen', async () => {
    mockGetResource.mockResolvedValue({ values: VALUES, notices: [] });
    expect(await dataSource().metricFindQuery('gpus(cluster=$cluster, node=$node)')).toEqual(VALUES);
    expect(mockGetResource).toHaveBeenCalledWith('variables', {
      kind: 'gpu',
      cluster: [],
      node: ['a', 'b.c'],
      gpu: [],
    });
  });

  test('are a frame of text and value for Grafana’s variable editor', async () => {
    const notices = [{ severity: 'warning', text: 'south-a does not answer' }];
    mockGetResource.mockResolvedValue({ values: VALUES, notices });
    const support = new GpuVariableSupport(dataSource());
    const targets = ['gpus(node=$node)'] as unknown as GpuVariableQuery[];
    const [frame] = (await firstValueFrom(support.query({ ...request(), targets }))).data;
    expect(frame.fields.map(({ name, values }: { name: string; values: string[] }) => [name, values])).toEqual([
      ['text', ['a · GPU 0 · H200']],
      ['value', ['GPU-1']],
    ]);
    expect(frame.meta.notices).toEqual(notices);
  });

  test('fail with what is wrong in the shorthand', async () => {
    await expect(dataSource().metricFindQuery('racks()')).rejects.toThrow(/lists nothing: write clusters/);
  });
});

test('the catalogue is asked for once, and again after a failure', async () => {
  const source = dataSource();
  mockGetResource.mockRejectedValueOnce(new Error('502')).mockResolvedValue([]);
  await expect(source.metrics()).rejects.toThrow('502');
  await Promise.all([source.metrics(), source.metrics()]);
  expect(mockGetResource).toHaveBeenCalledTimes(2);
});
