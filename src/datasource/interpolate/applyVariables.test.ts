import { fakeTemplateSrv } from '../test/templateSrv';
import { type GpuQuery } from '../types';
import { applyVariables, usesVariables } from './applyVariables';
import { promqlValue } from './promql';

const ALL_NODES = { value: ['a', 'b', 'c'], text: 'All', multi: true, includeAll: true };

function apply(query: Partial<GpuQuery>, variables: Parameters<typeof fakeTemplateSrv>[0] = {}, scopedVars = {}) {
  return applyVariables({ refId: 'A', ...query }, fakeTemplateSrv(variables), scopedVars);
}

describe('the scope', () => {
  test('takes one entry for each value of a variable, and each only once', () => {
    const { nodes } = apply({ nodes: ['$node', 'b', 'd'] }, { node: { value: ['a', 'b'], multi: true } });
    expect(nodes).toEqual(['a', 'b', 'd']);
  });

  test.each([
    ['the list of all values', ALL_NODES],
    ['a custom value', { value: '.*', text: 'All', includeAll: true }],
    ['the value of All itself', { value: ['$__all'] }],
  ])('is lifted when a variable is All, as %s', (_, node) => {
    expect(apply({ nodes: ['$node', 'x'], clusters: ['north'] }, { node })).toMatchObject({
      nodes: [],
      clusters: ['north'],
    });
  });

  test('keeps the restriction of a repeated panel although the dashboard’s variable is All', () => {
    const { nodes } = apply({ nodes: ['$node'] }, { node: ALL_NODES }, { node: { value: 'b', text: 'b' } });
    expect(nodes).toEqual(['b']);
  });

  test('leaves a node that is called All alone', () => {
    expect(apply({ nodes: ['$node'] }, { node: { value: 'All', text: 'All' } }).nodes).toEqual(['All']);
  });

  test('is not restricted by a variable without a value', () => {
    expect(apply({ nodes: ['$node'] }, { node: { value: '' } }).nodes).toEqual([]);
  });

  test('keeps values exact, whatever characters they hold', () => {
    const values = ['gpu.rack|1', 'a"b', 'back\\slash', '$&', 'eh|tnt_(x)'];
    expect(apply({ nodes: ['$node'] }, { node: { value: values, multi: true } }).nodes).toEqual(values);
  });

  test('does not take a value between slashes for an expression', () => {
    expect(apply({ pods: ['$pod'] }, { pod: { value: '/a.b/' } }).pods).toEqual(['//a\\.b//']);
  });

  test('puts literals into an expression', () => {
    const { nodes } = apply({ nodes: ['/$rack-.*/'] }, { rack: { value: ['r.1', 'r2'], multi: true } });
    expect(nodes).toEqual(['/(r\\.1|r2)-.*/']);
  });

  test('takes every combination of several variables in one entry', () => {
    const { migs } = apply(
      { migs: ['$gpu/$instance'] },
      { gpu: { value: ['GPU-1', 'GPU-2'] }, instance: { value: ['7', '9'] } }
    );
    expect(migs).toEqual(['GPU-1/7', 'GPU-1/9', 'GPU-2/7', 'GPU-2/9']);
  });

  test.each([
    ['All', { value: ['$__all'], text: 'All', multi: true, includeAll: true }],
    ['empty', { value: '' }],
  ])('of instances never turns into boards when its variable is %s', (_, mig) => {
    expect(apply({ migs: ['$mig'] }, { mig }).migs).toEqual(['/.+/']);
    expect(apply({ migs: [] }, { mig }).migs).toEqual([]);
  });

  test('keeps an entry whose variable is unknown, so that the answer can name it', () => {
    expect(apply({ nodes: ['$nothing'] }).nodes).toEqual(['$nothing']);
  });
});

describe('an expression', () => {
  test('keeps the backend’s macros although Grafana knows some', () => {
    const expr = 'rate(x{$__gpu_filter}[$__rate_interval]) + ${__interval_ms}00 by ($__gpu_identity) [$__interval]';
    const scoped = { __interval: { value: '15s', text: '15s' }, __interval_ms: { value: 15000, text: '15000' } };
    expect(apply({ expr }, {}, scoped).expr).toBe(
      'rate(x{${__gpu_filter}}[${__rate_interval}]) + ${__interval_ms}00 by (${__gpu_identity}) [${__interval}]'
    );
  });

  // What must reach Prometheus, from reports of other data sources.
  test.each([
    [['d.e.f'], 'd\\\\.e\\\\.f'],
    [['a-b-c', 'd.e.f'], '(a-b-c|d\\\\.e\\\\.f)'],
    [['eh|tnt_de_(provider)'], 'eh\\\\|tnt_de_\\\\(provider\\\\)'],
    [['/about.ashx'], '/about\\\\.ashx'],
    [['foo\\bar'], 'foo\\\\\\\\bar'],
    [['Ada\'s 13" box'], 'Ada\'s 13\\" box'],
  ])('writes %j of a variable with several values as a regular expression of literals', (values, right) => {
    expect(apply({ expr: 'x{host=~"$v"}' }, { v: { value: values, multi: true } }).expr).toBe(`x{host=~"${right}"}`);
    if (values.length === 1) {
      expect(promqlValue(values[0], { multi: true })).toBe(right);
    }
  });

  test('writes a single value as it is but for quotes and backslashes', () => {
    expect(apply({ expr: 'x{host="$v"}' }, { v: { value: 'd.e"\\f' } }).expr).toBe('x{host="d.e\\"\\\\f"}');
  });
});

test('legend, metric and step are texts', () => {
  const query = { legend: '{{node}} $what', metric: 'gpu_$metric', minStep: '$step' };
  const variables = { what: { value: 'x' }, metric: { value: 'power_watts' }, step: { value: '5s' } };
  expect(apply(query, variables)).toMatchObject({ legend: '{{node}} x', metric: 'gpu_power_watts', minStep: '5s' });
});

test('a query that holds macros only depends on no variable', () => {
  const templateSrv = fakeTemplateSrv({});
  expect(usesVariables({ refId: 'A', expr: 'rate(x[$__rate_interval]) ${__range}' }, templateSrv)).toBe(false);
  expect(usesVariables({ refId: 'A', expr: 'x{node="$node"}' }, templateSrv)).toBe(true);
  expect(usesVariables({ refId: 'A', nodes: ['a', '${node}'] }, templateSrv)).toBe(true);
});

test('variables in the options of a judgement are replaced, wherever they stand', () => {
  const options = {
    of: '$what',
    list: ['$what', 3],
    limits: { deep: { text: 'a $what' }, number: 0.5, off: false, none: null },
  };
  expect(
    apply(
      { queryType: 'health', options, kinds: ['$kinds'] },
      { what: { value: 'x' }, kinds: { value: ['xid', 'lost'] } }
    )
  ).toMatchObject({
    options: { of: 'x', list: ['x', 3], limits: { deep: { text: 'a x' }, number: 0.5, off: false, none: null } },
    kinds: ['xid', 'lost'],
  });
  expect(usesVariables({ refId: 'A', options: { limits: { deep: ['$node'] } } }, fakeTemplateSrv({}))).toBe(true);
  expect(usesVariables({ refId: 'A', options: { limits: { deep: 1 } } }, fakeTemplateSrv({}))).toBe(false);
});

test('variables in filters are replaced as their operator needs it', () => {
  const adhocFilters: GpuQuery['adhocFilters'] = [
    { key: 'node', operator: '=', value: '$one' },
    { key: 'pod', operator: '=~', value: '$several' },
    { key: 'model', operator: '=|', values: ['$several', 'x'] },
    { key: 'job', operator: '=|', values: ['$all'] },
  ];
  const variables = {
    one: { value: 'gpu-01' },
    several: { value: ['a.b', 'c'], multi: true },
    all: { value: ['$__all'], text: 'All', multi: true },
  };
  expect(apply({ adhocFilters }, variables).adhocFilters).toEqual([
    { key: 'node', operator: '=', value: 'gpu-01' },
    { key: 'pod', operator: '=~', value: '(a\\.b|c)' },
    { key: 'model', operator: '=|', values: ['a.b', 'c', 'x'] },
    { key: 'job', operator: '=|', values: [] },
  ]);
  expect(usesVariables({ refId: 'A', adhocFilters }, fakeTemplateSrv({}))).toBe(true);
});
