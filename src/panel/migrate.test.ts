import { migrateOptions } from './migrate';
import { DEFAULTS } from './options';

test('what is missing or means nothing has its default', () => {
  expect(migrateOptions(undefined)).toEqual(DEFAULTS);
  expect(migrateOptions({ palette: 'rainbow', groupBy: 'job', showMig: 'no', cellSize: NaN, version: 99 })).toEqual({
    ...DEFAULTS,
    groupBy: 'job',
  });
});
