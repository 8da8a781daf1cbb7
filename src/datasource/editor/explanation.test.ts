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
