import { render, screen, waitFor } from '@testing-library/react';
import React from 'react';

import { testUser } from '../../test/testUser';
import { type DataSource } from '../DataSource';
import { type GpuVariableQuery } from '../types';
import { VariableQueryEditor } from './VariableQueryEditor';

jest.mock('@grafana/runtime', () => ({
  ...jest.requireActual('@grafana/runtime'),
  getTemplateSrv: () => ({ getVariables: () => [] }),
}));

const datasource = { variableValues: jest.fn().mockResolvedValue({ values: [], notices: [] }) };
const onChange = jest.fn();

async function show(query: unknown) {
  render(
    <VariableQueryEditor
      datasource={datasource as unknown as DataSource}
      query={query as GpuVariableQuery}
      onChange={onChange}
      onRunQuery={() => undefined}
    />
  );
  await waitFor(() => expect(screen.getByLabelText('List')).toBeInTheDocument());
  return testUser();
}

test('shows the parents of its kind, also for a query in shorthand', async () => {
  await show('gpus(cluster=$cluster)');
  expect(screen.getByLabelText('List')).toHaveValue('GPUs');
  expect(screen.getByLabelText('In clusters')).toBeInTheDocument();
  expect(screen.getByLabelText('In nodes')).toBeInTheDocument();
  expect(screen.queryByLabelText('In GPUs')).not.toBeInTheDocument();
  expect(screen.getByText('$cluster')).toBeInTheDocument();
});

test('forgets the parents that do not narrow another kind', async () => {
  const user = await show({ refId: 'v', kind: 'mig', clusters: ['north'], gpus: ['$gpu'] });
  await user.click(screen.getByLabelText('List'));
  await user.click(await screen.findByRole('option', { name: /^Nodes/ }));
  expect(onChange).toHaveBeenCalledWith({ refId: 'v', kind: 'node', clusters: ['north'] });
});

test('says what is wrong with a query that cannot be read', async () => {
  await show('racks()');
  expect(screen.getByText(/lists nothing: write clusters/)).toBeInTheDocument();
});
