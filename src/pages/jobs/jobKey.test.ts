import { jobOfOwner, jobOfPod, jobOfWorkload } from './jobKey';

test.each([
  ['train-0', 'train'],
  ['train-worker-3', 'train'],
  ['train-0-x7k2p', 'train'],
  ['pretrain-7b-11', 'pretrain-7b'],
  ['train-b-0', 'train-b'],
  ['server', 'server'],
  ['web-launcher', 'web-launcher'],
  ['7', '7'],
])('%s is a pod of %s', (pod, job) => {
  expect(jobOfPod(pod)).toBe(job);
});

test('a Slurm job comes before the pod, and who has nothing has no job', () => {
  expect(jobOfOwner({ cluster: 'north', slurm_job: '4711', pod: 'train-0' })).toEqual({
    cluster: 'north',
    namespace: '',
    job: '4711',
  });
  expect(jobOfOwner({ cluster: 'north', namespace: 'ml', pod: 'train-0' })?.job).toBe('train');
  expect(jobOfOwner({ cluster: 'north', pod: '' })).toBeUndefined();
});

test('ranks go by the job that they say, servers by their pods', () => {
  const row = { cluster: 'north', namespace: 'ml', job: 'llama', pod: 'train-0' };
  expect(jobOfWorkload(row, false)?.job).toBe('llama');
  expect(jobOfWorkload(row, true)?.job).toBe('train');
  expect(jobOfWorkload({ cluster: 'north' }, false)).toBeUndefined();
});
