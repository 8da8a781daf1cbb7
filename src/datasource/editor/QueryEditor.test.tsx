import { EditorView } from '@codemirror/view';
import { CoreApp, createDataFrame, getDefaultTimeRange, LoadingState, type PanelData } from '@grafana/data';
import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import React, { useState } from 'react';

import { testUser } from '../../test/testUser';
import { type DataSource } from '../DataSource';
import { type GpuQuery, type Metric } from '../types';
import { QueryEditor } from './QueryEditor';

jest.mock('@grafana/runtime', () => ({
  ...jest.requireActual('@grafana/runtime'),
  getTemplateSrv: () => ({ getVariables: () => [{ name: 'node', type: 'query', label: 'Node' }] }),
}));

const POWER: Metric = {
  name: 'gpu_power_watts',
  unit: 'watts',
  kind: 'gauge',
  family: 'power',
  help: 'Power drawn, averaged over one second.',
  caveat: 'The board, memory included.',
  nvidiaSmi: 'power.draw.average',
  aggregations: ['sum', 'avg', 'max'],
  subject: 'device',
};

const LATENCY: Metric = {
  ...POWER,
  name: 'serve_request_seconds',
  unit: 'seconds',
  kind: 'histogram',
  family: 'serving',
  help: 'From the request to its last token.',
  aggregations: ['p95', 'p50', 'p99', 'avg'],
  subject: 'workload',
};

const datasource = {
  metrics: jest.fn(),
  coverage: jest.fn(),
  getTagValues: jest.fn(),
  variableValues: jest.fn(),
  listValues: jest.fn(),
  targetContainsTemplate: jest.fn(),
};

const onChange = jest.fn();
const current = (): GpuQuery => onChange.mock.lastCall[0];
const onRunQuery = jest.fn();

interface Shown {
  app?: CoreApp;
  data?: PanelData;
}

function Editor({ initial, app, data }: Shown & { initial: GpuQuery }) {
  const [query, setQuery] = useState(initial);
  return (
    <QueryEditor
      datasource={datasource as unknown as DataSource}
      query={query}
      onChange={(next) => {
        onChange(next);
        setQuery(next);
      }}
      onRunQuery={onRunQuery}
      app={app}
      data={data}
    />
  );
}

async function show(query: Partial<GpuQuery>, shown: Shown = {}) {
  render(<Editor initial={{ refId: 'A', schemaVersion: 1, ...query }} {...shown} />);
  await waitFor(() => expect(datasource.variableValues).toHaveBeenCalled());
  return testUser();
}

/** The editor of the expression, which knows itself by its element. */
function expression(): EditorView {
  const view = EditorView.findFromDOM(screen.getByLabelText('Expression'));
  if (!view) {
    throw new Error('there is no editor of the expression');
  }
  return view;
}

function write(text: string) {
  const view = expression();
  act(() => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }));
}

beforeEach(() => {
  jest.clearAllMocks();
  datasource.metrics.mockResolvedValue([POWER, LATENCY]);
  datasource.coverage.mockResolvedValue({ rows: [], notices: [] });
  datasource.getTagValues.mockResolvedValue([{ text: 'gpu-01', value: 'gpu-01' }]);
  datasource.variableValues.mockImplementation(({ kind }) =>
    Promise.resolve({ values: [{ value: `${kind}-1`, text: `${kind} one` }], notices: [] })
  );
  datasource.targetContainsTemplate.mockReturnValue(false);
});

test('a metric query shows what the metric means, and its own fields only', async () => {
  await show({ queryType: 'metric', metric: 'gpu_power_watts' });
  expect(await screen.findByText('Power drawn, averaged over one second.')).toBeInTheDocument();
  expect(screen.getByText('The board, memory included.')).toBeInTheDocument();
  expect(screen.getByText('W')).toBeInTheDocument();
  for (const label of ['Query type', 'Metric', 'One series per', 'Aggregation', 'Source', 'Stream']) {
    expect(screen.getByLabelText(label)).toBeInTheDocument();
  }
  for (const label of ['Clusters', 'Nodes', 'GPUs', 'MIG instances', 'Models']) {
    expect(screen.getByLabelText(label)).toBeInTheDocument();
  }
  expect(screen.queryByLabelText('Expression')).not.toBeInTheDocument();
});

test('a PromQL query shows its expression, the macros and the scope', async () => {
  await show({ queryType: 'promql', expr: 'up' });
  expect(expression().state.doc.toString()).toBe('up');
  expect(screen.getByText('$__gpu_filter')).toBeInTheDocument();
  for (const label of ['Clusters', 'Add scope', 'Exemplars']) {
    expect(screen.getByLabelText(label)).toBeInTheDocument();
  }
  expect(screen.queryByLabelText('Metric')).not.toBeInTheDocument();
  expect(screen.queryByLabelText('Stream')).not.toBeInTheDocument();
});

test('the type is switched, and nothing incomplete is run', async () => {
  const user = await show({ queryType: 'metric', metric: 'gpu_power_watts' });
  await user.click(screen.getByLabelText('Query type'));
  await user.click(await screen.findByRole('option', { name: /PromQL/ }));
  expect(current()).toMatchObject({ queryType: 'promql', metric: 'gpu_power_watts', schemaVersion: 1 });
  expect(onRunQuery).not.toHaveBeenCalled();
});

test('an expression runs when it is left or on Ctrl+Enter, not while it is typed', async () => {
  await show({ queryType: 'promql', expr: '' });
  write('up == 0');
  expect(onRunQuery).not.toHaveBeenCalled();
  fireEvent.blur(expression().contentDOM);
  expect(current().expr).toBe('up == 0');
  expect(onRunQuery).toHaveBeenCalledTimes(1);
  fireEvent.keyDown(expression().contentDOM, { key: 'Enter', ctrlKey: true });
  expect(onRunQuery).toHaveBeenCalledTimes(2);
  write('up == 1');
  fireEvent.keyDown(expression().contentDOM, { key: 'Enter', ctrlKey: true });
  expect(current().expr).toBe('up == 1');
});

test('an expression from elsewhere takes the place of the one that is shown', async () => {
  const { rerender } = render(
    <Editor key="a" initial={{ refId: 'A', schemaVersion: 1, queryType: 'promql', expr: 'up' }} />
  );
  rerender(<Editor key="b" initial={{ refId: 'A', schemaVersion: 1, queryType: 'promql', expr: 'down' }} />);
  expect(expression().state.doc.toString()).toBe('down');
  await waitFor(() => expect(datasource.variableValues).toHaveBeenCalled());
});

test('a scope takes values of the fleet and variables of the dashboard', async () => {
  const user = await show({ queryType: 'metric', metric: 'gpu_power_watts', clusters: ['north'] });
  await user.click(screen.getByLabelText('Nodes'));
  await user.click(await screen.findByRole('option', { name: /\$node/ }));
  await user.click(await screen.findByRole('option', { name: /node one/ }));
  expect(current().nodes).toEqual(['$node', 'node-1']);
  expect(onRunQuery).toHaveBeenCalled();
  expect(datasource.variableValues).toHaveBeenCalledWith(
    expect.objectContaining({ kind: 'node', clusters: ['north'] }),
    {}
  );
});

test('a metric brings the aggregations that make sense for it', async () => {
  const user = await show({ queryType: 'metric', metric: 'other', aggregation: 'min' });
  await user.click(screen.getByLabelText('Metric'));
  await user.click(await screen.findByRole('option', { name: /gpu_power_watts/ }));
  expect(current()).toMatchObject({ metric: 'gpu_power_watts', aggregation: '' });
  await user.click(screen.getByLabelText('Aggregation'));
  expect(await screen.findByText('Sum, as the catalogue says')).toBeInTheDocument();
  expect(screen.queryByRole('option', { name: 'Minimum' })).not.toBeInTheDocument();
});

test('the stream can be turned off', async () => {
  const user = await show({ queryType: 'metric', metric: 'gpu_power_watts' });
  await user.click(screen.getByLabelText('Stream'));
  expect(current().live).toBe(false);
});

test('a step without a unit is refused, and a legend counts when it is left', async () => {
  const user = await show({ queryType: 'metric', metric: 'gpu_power_watts' });
  await user.click(screen.getByRole('button', { name: /^Options/ }));
  await user.type(screen.getByLabelText('Min step'), '5');
  expect(screen.getByText(/number with its unit/)).toBeInTheDocument();
  await user.type(screen.getByLabelText('Min step'), 's{Enter}');
  expect(current().minStep).toBe('5s');
  await user.type(screen.getByLabelText('Legend'), 'GPU {{{{gpu}}');
  await user.tab();
  expect(current().legend).toBe('GPU {{gpu}}');
});

test('lists that cannot be had say why, and the query can still be edited', async () => {
  datasource.metrics.mockRejectedValue({ data: { message: 'settings: clusters is empty' } });
  datasource.variableValues.mockRejectedValue(new Error('timed out'));
  await show({ queryType: 'metric', metric: 'gpu_power_watts' });
  expect(await screen.findByText(/list of metrics is not available: settings: clusters is empty/)).toBeInTheDocument();
  expect(await screen.findByText('Nodes cannot be listed: timed out')).toBeInTheDocument();
  expect(screen.getByLabelText('Metric')).toBeEnabled();
});

test('an alert rule with variables is warned of', async () => {
  datasource.targetContainsTemplate.mockReturnValue(true);
  await show({ queryType: 'metric', metric: 'gpu_power_watts', nodes: ['$node'] }, { app: CoreApp.UnifiedAlerting });
  expect(screen.getByText('Alert rules have no dashboard variables')).toBeInTheDocument();
  expect(screen.queryByLabelText('Stream')).not.toBeInTheDocument();
});

test('every type of query is offered with its meaning, in groups', async () => {
  const user = await show({ queryType: 'metric', metric: 'gpu_power_watts' });
  await user.click(screen.getByLabelText('Query type'));
  await user.click(await screen.findByRole('option', { name: /Events.*XID errors/ }));
  expect(current().queryType).toBe('events');
  expect(onRunQuery).toHaveBeenCalled();
  for (const label of ['Kinds', 'Shortest', 'Most rows', 'Source', 'Stream']) {
    expect(screen.getByLabelText(label)).toBeInTheDocument();
  }
  expect(screen.queryByLabelText('Metric')).not.toBeInTheDocument();
});

test('events are chosen by kind, and rows are bounded', async () => {
  const user = await show({ queryType: 'events' });
  await user.click(screen.getByLabelText('Kinds'));
  await user.click(await screen.findByRole('option', { name: /XID error/ }));
  expect(current().kinds).toEqual(['xid']);
  await user.type(screen.getByLabelText('Most rows'), '0');
  expect(screen.getByText('Write a whole number from 1 to 500000.')).toBeInTheDocument();
  await user.tab();
  expect(current().maxRows).toBeUndefined();
  await user.type(screen.getByLabelText('Most rows'), '50{Enter}');
  expect(current().maxRows).toBe(50);
});

test('a workload’s metric has its own groupings and quantiles, and no fields of devices', async () => {
  const user = await show({ queryType: 'metric', metric: 'gpu_power_watts', aggregation: 'sum' });
  await user.click(screen.getByLabelText('Metric'));
  await user.click(await screen.findByRole('option', { name: /serve_request_seconds/ }));
  expect(current()).toMatchObject({ metric: 'serve_request_seconds', aggregation: '' });
  expect(screen.queryByLabelText('Stream')).not.toBeInTheDocument();
  expect(screen.queryByLabelText('MIG instances')).not.toBeInTheDocument();
  await user.click(screen.getByLabelText('One series per'));
  await user.click(await screen.findByRole('option', { name: /^Pod/ }));
  expect(current().aggregateBy).toBe('pod');
  await user.click(screen.getByLabelText('Aggregation'));
  await user.click(await screen.findByRole('option', { name: /99th percentile/ }));
  expect(current().aggregation).toBe('p99');
});

test('a metric says whether it is measured in the scope, and how to get it', async () => {
  const row = { metric: 'gpu_power_watts', status: 'missing', covered: 0, total: 8, dialect: '', series: '' };
  datasource.coverage.mockResolvedValue({ rows: [{ ...row, enable: 'Add DCGM_FI_DEV_POWER_USAGE.' }], notices: [] });
  await show({ queryType: 'metric', metric: 'gpu_power_watts', nodes: ['$node'] });
  expect(await screen.findByText(/Not measured on any of 8 devices/)).toBeInTheDocument();
  expect(screen.getByText('Add DCGM_FI_DEV_POWER_USAGE.')).toBeInTheDocument();
  expect(datasource.coverage).toHaveBeenCalledWith({ nodes: ['$node'] });
});

test('a matrix is of every device on its own', async () => {
  const user = await show({
    queryType: 'metric',
    metric: 'gpu_power_watts',
    aggregateBy: 'node',
    reduce: { mode: 'bands' },
  });
  await user.click(screen.getByRole('button', { name: /^Options/ }));
  await user.click(screen.getByLabelText('Format'));
  await user.click(await screen.findByRole('option', { name: /Matrix/ }));
  expect(current()).toMatchObject({ format: 'matrix', aggregateBy: 'identity' });
  expect(current().reduce).toBeUndefined();
  expect(screen.queryByLabelText('One series per')).not.toBeInTheDocument();
  expect(screen.queryByLabelText('Lines')).not.toBeInTheDocument();
});

test('a judgement has its own options, and the rest as JSON that is checked', async () => {
  const user = await show({ queryType: 'bottleneck', options: { limits: { windowSeconds: 60 } } });
  await user.click(screen.getByLabelText('Show'));
  await user.click(await screen.findByRole('option', { name: /Timeline/ }));
  expect(current().options).toEqual({ limits: { windowSeconds: 60 }, show: 'timeline' });
  await user.click(screen.getByRole('button', { name: /^Options/ }));
  const text = screen.getByLabelText('More options');
  onRunQuery.mockClear();
  await user.clear(text);
  await user.type(text, '[[1]');
  await user.tab();
  expect(screen.getByText(/Write an object in JSON/)).toBeInTheDocument();
  expect(onRunQuery).not.toHaveBeenCalled();
  await user.clear(text);
  await user.tab();
  expect(current().options).toEqual({ show: 'timeline' });
});

test('a topology has fields for its parts and for the MIG profile that room is looked for', async () => {
  datasource.listValues.mockResolvedValue({ values: [{ value: '1g.18gb', text: '1g.18gb' }], notices: [] });
  const user = await show({ queryType: 'topology' });
  await user.click(screen.getByLabelText('Room for'));
  await user.click(await screen.findByRole('option', { name: '1g.18gb' }));
  expect(current().options).toEqual({ profile: '1g.18gb' });
  await user.click(screen.getByLabelText('Parts'));
  await user.click(await screen.findByRole('option', { name: /NVLink/ }));
  expect(current().options).toEqual({ profile: '1g.18gb', parts: ['nvlink'] });
  expect(datasource.listValues).toHaveBeenCalledWith('profile', {});
});

test('a judgement’s options for rules show in rules only', async () => {
  await show({ queryType: 'health' }, { app: CoreApp.UnifiedAlerting });
  expect(screen.getByLabelText('Rule reads')).toBeInTheDocument();
});

test('an anomaly is asked for when its metric is known', async () => {
  const user = await show({ queryType: 'anomaly' });
  expect(screen.queryByLabelText('Rule reads')).not.toBeInTheDocument();
  await user.click(screen.getByLabelText('Metric'));
  expect(screen.queryByRole('option', { name: /serve_request_seconds/ })).not.toBeInTheDocument();
  await user.click(await screen.findByRole('option', { name: /gpu_power_watts/ }));
  expect(current().options).toEqual({ metric: 'gpu_power_watts' });
  expect(onRunQuery).toHaveBeenCalledTimes(1);
});

test('workloads and filters are chosen below the scope', async () => {
  const user = await show({ queryType: 'inventory' });
  expect(screen.queryByLabelText('Pods')).not.toBeInTheDocument();
  await user.click(screen.getByRole('button', { name: 'Workloads and filters' }));
  expect(screen.getByLabelText('Pods')).toBeInTheDocument();
  await user.click(screen.getByRole('button', { name: 'Add a filter' }));
  await user.click(screen.getByLabelText('Label of filter 1'));
  await user.click(await screen.findByRole('option', { name: /^node/ }));
  await user.click(screen.getByLabelText('Value of filter 1'));
  await user.click(await screen.findByRole('option', { name: /gpu-01/ }));
  expect(current().adhocFilters).toEqual([{ key: 'node', operator: '=', value: 'gpu-01' }]);
  await user.click(screen.getByRole('button', { name: 'Remove filter 1' }));
  expect(current().adhocFilters).toEqual([]);
});

test('an answer is explained', async () => {
  const frame = createDataFrame({
    refId: 'A',
    fields: [{ name: 'v', values: [1, 2], labels: { cluster: 'north' } }],
    meta: { executedQueryString: 'north-a: DCGM_FI_DEV_POWER_USAGE (step 15s)\n# live: of 3 agents' },
  });
  const data: PanelData = { series: [frame], state: LoadingState.Done, timeRange: getDefaultTimeRange() };
  const user = await show({ queryType: 'metric', metric: 'gpu_power_watts' }, { data });
  await user.click(screen.getByRole('button', { name: /^Explain.*1 frame, 2 rows/ }));
  const list = screen.getByLabelText('How the query is answered');
  expect(list).toHaveTextContent('north-a: DCGM_FI_DEV_POWER_USAGE (step 15s)');
  expect(list).toHaveTextContent('live: of 3 agents');
  expect(list).toHaveTextContent('No stream');
});

test('a query by hand is brought into form without running it', async () => {
  await show({ schemaVersion: undefined, expr: 'up', ...{ legendFormat: '{{job}}' } });
  expect(current()).toMatchObject({ schemaVersion: 1, queryType: 'promql', legend: '{{job}}' });
  expect(onRunQuery).not.toHaveBeenCalled();
});

test('a query of a newer version is warned of', async () => {
  await show({ queryType: 'metric', metric: 'gpu_power_watts', schemaVersion: 9 });
  expect(screen.getByText('A newer version of the plugin wrote this query')).toBeInTheDocument();
});
