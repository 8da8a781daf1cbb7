import {
  CoreApp,
  createDataFrame,
  type DataQueryRequest,
  type DataQueryResponse,
  type DataSourceApi,
  type DataSourceInstanceSettings,
  dateTime,
  FieldType,
  LoadingState,
} from '@grafana/data';
import { config } from '@grafana/runtime';
import { type DataQuery } from '@grafana/schema';
import { firstValueFrom, lastValueFrom, type Observable, of } from 'rxjs';

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
    [{ queryType: 'anomaly' }, false],
    [{ queryType: 'anomaly', options: { metric: 'gpu_power_watts' } }, true],
    [{ queryType: 'forecast', options: { of: 'memory' } }, true],
    [{ queryType: 'forecast', options: { of: 'metric' } }, false],
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
      schemaVersion: 1,
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
    expect(mockGetResource).toHaveBeenCalledWith('variables', { kind: 'gpu', node: ['a', 'b.c'] });
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
    expect(mockGetResource).toHaveBeenCalledWith(
      'variables',
      expect.objectContaining({ from: START - 1000, to: START })
    );
  });

  test('fail with what is wrong in the shorthand', async () => {
    await expect(dataSource().metricFindQuery('racks()')).rejects.toThrow(/lists nothing: write clusters/);
  });
});

describe('filters', () => {
  const node = { key: 'node', operator: '=', value: 'gpu-01' };
  const metric: GpuQuery = { refId: 'A', queryType: 'metric', metric: 'gpu_power_watts' };

  test('of the dashboard go along with each query, behind its own', () => {
    const own: GpuQuery = { ...metric, adhocFilters: [{ key: 'model', operator: '=', value: 'H200' }] };
    const dashboards = [node, { key: 'pod', operator: '=|', value: 'a', values: ['a', 'b'] }, { ...node, key: '' }];
    expect(dataSource().applyTemplateVariables(own, {}, dashboards).adhocFilters).toEqual([
      { key: 'model', operator: '=', value: 'H200' },
      { key: 'node', operator: '=', value: 'gpu-01' },
      { key: 'pod', operator: '=|', values: ['a', 'b'] },
    ]);
    expect(dataSource().interpolateVariablesInQueries([metric], {}, [node])[0].adhocFilters).toHaveLength(1);
    expect(dataSource().applyTemplateVariables(metric, {}, []).adhocFilters).toBeUndefined();
  });

  test('list what GPUs and their owners are told by', async () => {
    const keys = await dataSource().getTagKeys();
    expect(keys.map(({ value }) => value)).toEqual(
      'cluster node gpu gpu_uuid model mig_id mig_profile namespace pod job'.split(' ')
    );
  });

  test.each([
    ['node', [{ value: 'a', text: 'a' }], ['a'], 'node'],
    ['Hostname', [{ value: 'a', text: 'a' }], ['a'], 'node'],
    [
      'gpu',
      [
        { value: 'GPU-9', text: 'a · GPU 10 · H200' },
        { value: 'GPU-8', text: 'a · GPU 2' },
        { value: 'GPU-7', text: 'b · GPU 2 · H200' },
      ],
      ['2', '10'],
      'gpu',
    ],
    [
      'mig_id',
      [
        { value: 'GPU-1/7', text: 'x' },
        { value: 'GPU-2/7', text: 'y' },
      ],
      ['7'],
      'mig',
    ],
  ])('the values of %s', async (key, values, expected, kind) => {
    mockGetResource.mockResolvedValue({ values, notices: [] });
    const filters = [
      { key: 'cluster', operator: '=', value: 'north' },
      { ...node, operator: '!=' },
    ];
    const listed = await dataSource().getTagValues({ key, filters });
    expect(listed.map(({ value }) => value)).toEqual(expected);
    expect(mockGetResource).toHaveBeenCalledWith('variables', { kind, cluster: ['north'] });
  });

  test('of labels that are no dimension have no values', async () => {
    expect(await dataSource().getTagValues({ key: 'le', filters: [] })).toEqual([]);
    expect(mockGetResource).not.toHaveBeenCalled();
  });

  test('are put on and off in Explore, and one takes the place of its opposite', () => {
    const source = dataSource();
    const options = { key: 'node', value: 'gpu-01' };
    const on = source.toggleQueryFilter(metric, { type: 'FILTER_FOR', options });
    expect(on.adhocFilters).toEqual([node]);
    expect(source.queryHasFilter(on, options)).toBe(true);
    const out = source.modifyQuery(on, { type: 'ADD_FILTER_OUT', options });
    expect(out.adhocFilters).toEqual([{ ...node, operator: '!=' }]);
    expect(source.toggleQueryFilter(on, { type: 'FILTER_FOR', options }).adhocFilters).toEqual([]);
  });

  test('that a type cannot have are left out, and an expression takes any label', () => {
    const action = { type: 'ADD_FILTER', options: { key: 'le', value: '1' } };
    expect(dataSource().modifyQuery(metric, action)).toBe(metric);
    const expression: GpuQuery = { refId: 'A', queryType: 'promql', expr: 'x' };
    expect(dataSource().modifyQuery(expression, action).adhocFilters).toHaveLength(1);
  });
});

describe('queries from elsewhere', () => {
  const from = async (type: string, queries: DataQuery[]) =>
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- its successor knows no expressions
    dataSource().importQueries(queries, { type } as DataSourceApi);

  test('of Prometheus keep their expression, legend and step', async () => {
    const query = {
      refId: 'B',
      expr: 'up == 0',
      legendFormat: '{{job}}',
      interval: '30s',
      exemplar: true,
      format: 'heatmap',
    };
    expect(await from('prometheus', [query])).toEqual([
      expect.objectContaining({
        refId: 'B',
        queryType: 'promql',
        schemaVersion: 1,
        expr: 'up == 0',
        legend: '{{job}}',
        minStep: '30s',
        exemplars: true,
      }),
    ]);
  });

  test('in another language become new ones', async () => {
    const [logs] = await from('loki', [{ refId: 'A', expr: '{job="x"} |= "XID"' } as DataQuery]);
    expect(logs).toMatchObject({ refId: 'A', queryType: 'metric', metric: 'gpu_utilization_ratio' });
    expect(logs.expr).toBeUndefined();
  });
});

describe('annotations', () => {
  const target: GpuQuery = { refId: 'Anno', queryType: 'events', kinds: ['xid'] };
  const annotation = { name: 'XID', enable: true, iconColor: 'red', target };

  test('are events unless something else is chosen, and only events go on live', () => {
    const { annotations } = dataSource();
    expect(annotations?.getDefaultQuery?.()).toMatchObject({ queryType: 'events' });
    expect(annotations?.prepareQuery?.(annotation)).toEqual(target);
    const metric: GpuQuery = { refId: 'Anno', queryType: 'metric', metric: 'gpu_power_watts' };
    expect(annotations?.prepareQuery?.({ ...annotation, target: metric })).toEqual({ ...metric, live: false });
    expect(annotations?.prepareQuery?.({ ...annotation, target: undefined })).toBeUndefined();
  });

  test('end where an editor tries them, which waits for the end', async () => {
    const scopedVars = { __annotation: { text: 'XID', value: annotation } };
    const answers = await lastValueFrom(dataSource().query(request({ scopedVars, targets: [target] })));
    expect(answers.state).toBeUndefined();
    expect(mockLive.subscriptions).toHaveLength(0);
  });

  test('of moments end when they begin, as Grafana takes the columns of all marks from the first', async () => {
    const events = createDataFrame({
      fields: [
        { name: 'time', type: FieldType.time, values: [1000, 2000] },
        { name: 'timeEnd', type: FieldType.time, values: [null, 5000] },
      ],
    });
    mockAsk.mockReturnValue(of({ data: [events] }));
    const scopedVars = { __annotation: { text: 'XID', value: annotation } };
    const { data } = await lastValueFrom(dataSource().query(request({ scopedVars, targets: [target] })));
    expect(data[0].fields[1].values).toEqual([1000, 5000]);
    expect(data[0].length).toBe(2);
  });

  test('go on in a dashboard, whose panels are not drawn anew with each of a storm', () => {
    jest.useFakeTimers({ now: START });
    const scopedVars = { __annotation: { text: 'XID', value: annotation }, __sceneObject: { text: '', value: {} } };
    const seen: number[] = [];
    const subscription = dataSource()
      .query(request({ scopedVars, targets: [target] }))
      .subscribe(({ data }) => seen.push(data[0].length));
    for (let second = 1; second <= 3; second++) {
      for (let part = 0; part < 4; part++) {
        mockLive.push('q/0', wideFrame([[second + part / 4, 1, 2]]));
        jest.advanceTimersByTime(250);
      }
    }
    jest.advanceTimersByTime(2000);
    subscription.unsubscribe();
    jest.useRealTimers();
    expect(seen[0]).toBe(1);
    expect(seen.length).toBeLessThanOrEqual(5);
    expect(seen.at(-1)).toBeGreaterThanOrEqual(10);
    expect(mockLive.watchers).toBe(0);
  });
});

describe('coverage', () => {
  test('is asked for a scope with its variables replaced, without instances', async () => {
    mockGetResource.mockResolvedValue({ rows: [], notices: [] });
    await dataSource().coverage({ clusters: ['north'], nodes: ['$node'], migs: ['GPU-1/7'] });
    expect(mockGetResource).toHaveBeenCalledWith('coverage', { cluster: ['north'], node: ['a', 'b.c'] });
  });
});

test('the catalogue is asked for once, and again after a failure', async () => {
  const source = dataSource();
  mockGetResource.mockRejectedValueOnce(new Error('502')).mockResolvedValue([]);
  await expect(source.metrics()).rejects.toThrow('502');
  await Promise.all([source.metrics(), source.metrics()]);
  expect(mockGetResource).toHaveBeenCalledTimes(2);
});
