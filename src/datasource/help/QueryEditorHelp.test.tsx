import { render, screen } from '@testing-library/react';
import React from 'react';

import { testUser } from '../../test/testUser';
import { type DataSource } from '../DataSource';
import { isComplete } from '../query';
import { QUERY_TYPES } from '../queryTypes';
import { type GpuQuery } from '../types';
import { EXAMPLES } from './examples';
import { QueryEditorHelp } from './QueryEditorHelp';

test('an example becomes the query of the row that it is clicked in', async () => {
  const onClickExample = jest.fn();
  const query: GpuQuery = { refId: 'C' };
  render(<QueryEditorHelp datasource={{} as DataSource} query={query} onClickExample={onClickExample} />);
  await testUser().click(screen.getByRole('button', { name: /Which ten GPUs are the hottest/ }));
  expect(onClickExample).toHaveBeenCalledWith({
    refId: 'C',
    schemaVersion: 1,
    queryType: 'metric',
    metric: 'gpu_temperature_celsius',
    reduce: { mode: 'topk', k: 10, by: 'max' },
  });
  expect(screen.getAllByText('$__gpu_filter').length).toBeGreaterThan(0);
});

test('every example is complete and of a type that is offered', () => {
  for (const { query } of EXAMPLES.flatMap(({ examples }) => examples)) {
    expect(isComplete({ refId: 'A', ...query })).toBe(true);
    expect(QUERY_TYPES.map(({ type }) => type)).toContain(query.queryType);
  }
});
