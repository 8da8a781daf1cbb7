import { rowFrame } from '../test/fakeSource';
import { heatOf, median, podsOf, ranksOf } from './ranks';

const rank = (number: string, seconds: number | null, pod = `train-${number}`) => ({
  cluster: 'north',
  namespace: 'ml',
  pod,
  rank: number,
  train_step_seconds: seconds,
});
const JOB = { cluster: 'north', namespace: 'ml', job: 'train' };

test('ranks are those of the job, rank 2 before rank 10', () => {
  const ranks = ranksOf(
    [rowFrame('train_step_seconds', [rank('10', 1), rank('2', 2), rank('0', 3, 'other-0'), rank('1', null)])],
    JOB
  );
  expect(ranks.map((one) => one.rank)).toEqual(['1', '2', '10']);
  expect(ranks[0].values.train_step_seconds).toBeUndefined();
  expect(podsOf(ranks)).toEqual(['train-1', 'train-2', 'train-10']);
});

test('a Slurm job has its ranks whatever namespace they name', () => {
  const row = { ...rank('0', 1), job: '4711' };
  expect(
    ranksOf([rowFrame('train_step_seconds', [row])], { cluster: 'north', namespace: '', job: '4711' })
  ).toHaveLength(1);
});

test('a value is the hotter the further it is from the median', () => {
  expect(heatOf(1, [1, 1, 2])).toBe(0);
  expect(heatOf(1.25, [1, 1, 1.25])).toBeCloseTo(0.5);
  expect(heatOf(0.1, [1, 1, 0.1])).toBe(1);
});

test('one value and none have nothing to be compared with', () => {
  expect(heatOf(1, [1])).toBeUndefined();
  expect(heatOf(undefined, [1, 2])).toBeUndefined();
  expect(median([])).toBeUndefined();
  expect(median([3, 1])).toBe(2);
  expect(median([3, 1, 2])).toBe(2);
});
