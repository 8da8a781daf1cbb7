import { scopeOfJob, searchedScope } from './jobScope';

const POD_JOB = { cluster: 'north', namespace: 'ml', job: 'pre.train' };

test('a Slurm job is found by its number', () => {
  const job = { cluster: '', namespace: '', job: '4711' };
  expect(searchedScope(job)).toEqual({ jobs: ['4711'] });
  expect(scopeOfJob(job, [])).toEqual({ jobs: ['4711'] });
});

test('a job of pods is found by those that report, or else by their names', () => {
  expect(searchedScope(POD_JOB)).toEqual({ clusters: ['north'], namespaces: ['ml'] });
  expect(scopeOfJob(POD_JOB, ['a-0', 'a-1'])).toEqual({
    clusters: ['north'],
    namespaces: ['ml'],
    pods: ['a-0', 'a-1'],
  });
});

test.each([
  ['pre.train', true],
  ['pre.train-0', true],
  ['pre.train-worker-12', true],
  ['pre.train-0-x7k2p', true],
  ['pre.train-large-0', false],
  ['preXtrain-0', false],
  ['my-pre.train-0', false],
])('%s: is it a pod of the job? %s', (pod, is) => {
  const [pattern] = scopeOfJob(POD_JOB, []).pods ?? [];
  // As the backend reads it: between slashes, and of the whole name.
  expect(new RegExp(`^(?:${pattern.slice(1, -1)})$`).test(pod)).toBe(is);
});
