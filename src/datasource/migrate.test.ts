import { isNewer, migrate } from './migrate';
import { type GpuQuery } from './types';

const stored = (query: object): GpuQuery => ({ refId: 'A', ...query });

test('a query in form stays the object that it is', () => {
  const query = stored({ schemaVersion: 1, queryType: 'metric', metric: 'gpu_power_watts', nodes: ['a'] });
  expect(migrate(query)).toBe(query);
  expect(migrate(migrate(stored({ expr: 'up', legendFormat: '__auto' })))).toEqual(
    migrate(stored({ expr: 'up', legendFormat: '__auto' }))
  );
});

test.each([
  [{ metric: 'gpu_power_watts' }, { schemaVersion: 1, queryType: 'metric' }],
  [{ expr: 'up' }, { schemaVersion: 1, queryType: 'promql' }],
  [{ queryType: '', expr: 'up' }, { queryType: 'promql' }],
  [
    { metric: 'x', nodes: 'gpu-01', pods: '' },
    { nodes: ['gpu-01'], pods: [] },
  ],
  [
    { expr: 'up', legendFormat: '{{job}}', interval: '1m' },
    { legend: '{{job}}', minStep: '1m' },
  ],
  [{ expr: 'up', exemplar: true }, { exemplars: true }],
  [{ expr: 'up', format: 'heatmap' }, { format: 'time_series' }],
])('%j gets %j', (query, expected) => {
  const migrated = migrate(stored(query));
  expect(migrated).toMatchObject(expected);
  expect(migrated).not.toHaveProperty('legendFormat');
  expect(migrated).not.toHaveProperty('exemplar');
  expect(migrate(migrated)).toBe(migrated);
});

test('a query of a newer version is left as it is', () => {
  const query = stored({ schemaVersion: 2, nodes: 'a' });
  expect(isNewer(query)).toBe(true);
  expect(migrate(query)).toBe(query);
});
