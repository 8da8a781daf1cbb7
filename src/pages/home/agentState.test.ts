import { offsetText, periodText, stateInfo } from './agentState';

test.each([
  [0, '–'],
  [100, '100 ms'],
  [1000, '1 s'],
  [1500, '1.5 s'],
  [15000, '15 s'],
])('a period of %d ms reads %s', (period, text) => {
  expect(periodText(period)).toBe(text);
});

test.each([
  [0, 'in step'],
  [-99, 'in step'],
  [1500, '1.5 s ahead'],
  [-90_000, '90.0 s behind'],
])('a clock that is off by %d ms is %s', (offset, text) => {
  expect(offsetText(offset)).toBe(text);
});

test('a state that is not known is shown by its name', () => {
  expect(stateInfo('draining')).toEqual({ label: 'draining', color: 'purple', meaning: '' });
});
