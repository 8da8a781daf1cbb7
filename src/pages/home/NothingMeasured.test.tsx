import { render, screen, waitFor } from '@testing-library/react';
import React from 'react';

import { grafana, resetGrafana } from '../test/runtime';
import { NothingMeasured } from './NothingMeasured';

jest.mock('@grafana/runtime', () => jest.requireActual('../test/runtime').runtime);

beforeEach(resetGrafana);

test('where no node is known it leads to the guide, with the data source', async () => {
  grafana.resources = { variables: { values: [], notices: [] } };
  render(<NothingMeasured uid="gpu" tick={0} />);
  expect(await screen.findByText('No GPU is measured yet')).toBeInTheDocument();
  expect(screen.getByRole('link', { name: 'Set up Warpwatch' })).toHaveAttribute(
    'href',
    '/a/warpwatch-gpu-app/setup?ds=gpu'
  );
});

test.each([
  ['a node is known', { values: [{ value: 'gpu-1', text: 'gpu-1' }], notices: [] }],
  ['it could not be asked', new Error('refused')],
])('it says nothing where %s', async (_, variables) => {
  grafana.resources = { variables };
  const { rerender } = render(<NothingMeasured uid="gpu" tick={0} />);
  rerender(<NothingMeasured uid="gpu" tick={1} />);
  await waitFor(() => expect(grafana.fetched).toHaveLength(2));
  expect(screen.queryByText('No GPU is measured yet')).not.toBeInTheDocument();
});
