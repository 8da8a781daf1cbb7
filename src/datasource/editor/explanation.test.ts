import { createDataFrame, FieldType, getDefaultTimeRange, LoadingState, type PanelData } from '@grafana/data';

import { explanationOf } from './explanation';

const frame = (meta: object, labels = { cluster: 'north' }) =>
  createDataFrame({
    refId: 'A',
    fields: [
      { name: 'time', type: FieldType.time, values: [1, 2] },
      { name: 'v', type: FieldType.number, values: [1, 2], labels },
    ],
    meta,
  });

const data = (...series: PanelData['series']): PanelData => ({
  series,
  state: LoadingState.Done,
  timeRange: getDefaultTimeRange(),
});

test('tells what was asked of whom, and that a stream goes on', () => {
  const live = { path: 'p', data: {}, stepMs: 1000, rangeMs: 60_000 };
  const first = frame({
    executedQueryString: 'north-a: up (step 15s)\nsouth-a: up (step 15s)\n# live: gpu_power_watts of 3 agents',
    custom: { live },
  });
  const second = frame({ notices: [{ severity: 'info', text: 'Two are gone.' }] }, { cluster: 'south' });
  expect(explanationOf(data(first, second), 'A')).toEqual({
    frames: 2,
    rows: 4,
    clusters: ['north', 'south'],
    asked: ['north-a: up (step 15s)', 'south-a: up (step 15s)'],
    remarks: ['live: gpu_power_watts of 3 agents'],
    cached: undefined,
    live: 'By a stream with a value every 1 s',
    notices: ['Two are gone.'],
    error: undefined,
  });
});

test('says that nothing goes on, and what went wrong', () => {
  expect(explanationOf(data(frame({})), 'A')?.live).toMatch(/No stream/);
  const failed = { ...data(), errors: [{ refId: 'A', message: 'no such metric' }] };
  expect(explanationOf(failed, 'A')?.error).toBe('no such metric');
  expect(explanationOf(data(frame({})), 'B')).toMatchObject({ frames: 0, rows: 0, asked: [] });
  expect(explanationOf({ ...data(), state: LoadingState.Loading }, 'A')).toBeUndefined();
  expect(explanationOf(undefined, 'A')).toBeUndefined();
});

test.each([
  [{ steps: 0, of: 240 }, 'Nothing: the servers were asked for the whole range'],
  [{ steps: 1_152, of: 1_200 }, '96 % of the steps (1,152 of 1,200)'],
  [{ steps: 9_999, of: 10_000 }, '99 % of the steps (9,999 of 10,000)'],
  [{ steps: 240, of: 240 }, '100 % of the steps (240 of 240)'],
  [{ steps: 0, of: 0 }, undefined],
  [undefined, undefined],
])('tells of the cache %j: %s', (cached, want) => {
  expect(explanationOf(data(frame({ custom: { explain: { cached } } })), 'A')?.cached).toBe(want);
});
