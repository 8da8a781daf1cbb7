import { CoreApp } from '@grafana/data';
import { render, screen, waitFor } from '@testing-library/react';
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
};

const datasource = {
  metrics: jest.fn(),
  variableValues: jest.fn(),
  targetContainsTemplate: jest.fn(),
};

const onChange = jest.fn();
const current = (): GpuQuery => onChange.mock.lastCall[0];
const onRunQuery = jest.fn();

function Editor({ initial, app }: { initial: GpuQuery; app?: CoreApp }) {
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
    />
  );
}

async function show(query: Partial<GpuQuery>, app?: CoreApp) {
  render(<Editor initial={{ refId: 'A', ...query }} app={app} />);
  await waitFor(() => expect(datasource.variableValues).toHaveBeenCalled());
  return testUser();
}

beforeEach(() => {
  jest.clearAllMocks();
  datasource.metrics.mockResolvedValue([POWER]);
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
  for (const label of [
    'Query type',
    'Metric',
    'One series per',
    'Aggregation',
    'Source',
    'Stream',
    'Format',
    'Legend',
  ]) {
    expect(screen.getByLabelText(label)).toBeInTheDocument();
  }
  for (const label of ['Clusters', 'Nodes', 'GPUs', 'MIG instances', 'Models']) {
    expect(screen.getByLabelText(label)).toBeInTheDocument();
  }
  expect(screen.queryByLabelText('Expression')).not.toBeInTheDocument();
});

test('a PromQL query shows its expression, the macros and the scope', async () => {
  await show({ queryType: 'promql', expr: 'up' });
  expect(screen.getByLabelText('Expression')).toHaveValue('up');
  expect(screen.getByText('$__gpu_filter')).toBeInTheDocument();
  expect(screen.getByLabelText('Clusters')).toBeInTheDocument();
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
  const user = await show({ queryType: 'promql', expr: '' });
  await user.type(screen.getByLabelText('Expression'), 'up == 0');
  expect(onRunQuery).not.toHaveBeenCalled();
  await user.tab();
  expect(current().expr).toBe('up == 0');
  expect(onRunQuery).toHaveBeenCalledTimes(1);
  await user.type(screen.getByLabelText('Expression'), '{Control>}{Enter}{/Control}');
  expect(onRunQuery).toHaveBeenCalledTimes(2);
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
  await show({ queryType: 'metric', metric: 'gpu_power_watts', nodes: ['$node'] }, CoreApp.UnifiedAlerting);
  expect(screen.getByText('Alert rules have no dashboard variables')).toBeInTheDocument();
});
