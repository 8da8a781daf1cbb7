import { type CoverageRow } from '../types';
import { availabilityOf, availabilityText } from './availability';

const row = (part: Partial<CoverageRow>) => ({ metric: 'm', status: 'ok', enable: '', ...part }) as CoverageRow;

test('rows of a metric are taken together', () => {
  const rows = [
    row({ status: 'partial', covered: 6, total: 8, dialect: 'dcgm', series: 'DCGM_A' }),
    row({ status: 'missing', covered: 0, total: 2, dialect: '', series: '', enable: 'Add DCGM_A to the list.' }),
    row({ metric: 'n', status: 'missing', covered: 0, total: 8, dialect: '', series: '' }),
    row({ metric: 'o', covered: 8, total: 8, dialect: 'warpwatch', series: 'o' }),
  ];
  const available = availabilityOf({ rows, notices: [] });
  expect(available.get('m')).toEqual({
    measured: true,
    covered: 6,
    total: 8,
    from: ['dcgm: DCGM_A'],
    enable: ['Add DCGM_A to the list.'],
  });
  expect(['m', 'n', 'o', 'p'].map((name) => availabilityText(available.get(name)))).toEqual([
    'here: 6 of 8',
    'not measured here',
    'here',
    '',
  ]);
});
