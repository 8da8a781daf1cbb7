import { render, screen } from '@testing-library/react';
import React, { useState } from 'react';

import { testUser } from '../../test/testUser';
import { type GpuQuery } from '../types';
import { LinesFields } from './LinesFields';

function show(initial: Partial<GpuQuery> = {}) {
  const onChange = jest.fn();
  function Fields() {
    const [query, setQuery] = useState<GpuQuery>({ refId: 'A', queryType: 'metric', ...initial });
    const change = (part: Partial<GpuQuery>) => {
      onChange(part);
      setQuery({ ...query, ...part });
    };
    return <LinesFields id="test" query={query} onChange={change} />;
  }
  render(<Fields />);
  return { user: testUser(), current: () => onChange.mock.lastCall?.[0] };
}

test('the highest lines are kept, as many as are wanted', async () => {
  const { user, current } = show({ maxSeries: 10 });
  await user.click(screen.getByLabelText('Lines'));
  await user.click(await screen.findByRole('option', { name: /Highest/ }));
  await user.type(screen.getByLabelText('How many'), '5{Enter}');
  expect(current()).toEqual({ reduce: { mode: 'topk', k: 5 } });
  expect(screen.queryByLabelText('Most lines')).not.toBeInTheDocument();
});

test('the usual mode is left out, and the limit of lines is bounded', async () => {
  const { user, current } = show({ reduce: { mode: 'bands' } });
  await user.click(screen.getByLabelText('Lines'));
  await user.click(await screen.findByRole('option', { name: /As many as fit/ }));
  expect(current()).toEqual({ reduce: undefined });
  await user.type(screen.getByLabelText('Most lines'), '2000000{Enter}');
  expect(current()).toEqual({ reduce: undefined });
  expect(screen.getByLabelText('Most lines')).toHaveValue('');
});

test('an expression has no other modes than all', async () => {
  const { user } = show({ queryType: 'promql' });
  await user.click(screen.getByLabelText('Lines'));
  expect((await screen.findAllByRole('option')).map(({ textContent }) => textContent)).toHaveLength(2);
});
