import { countVerdicts } from './VerdictShares';
import { nodesOf } from './nodesOf';

const gpu = (node: string, rest: Record<string, unknown> = {}) => ({
  cluster: 'north',
  node,
  gpu_uuid: 'GPU-a',
  mig_id: '',
  model: 'H100',
  state: 'present',
  agent: 'connected',
  ...rest,
});

test('a node has the sums of its GPUs, and instances count with theirs', () => {
  const nodes = nodesOf([
    gpu('n1', { power: 300, memory_total: 80, sm_active: 0.5, temperature: 40 }),
    gpu('n1', { mig_id: '7', memory_total: 10, sm_active: 0.1, power: null }),
    gpu('n1', { gpu_uuid: 'GPU-b', power: 200, state: 'lost', temperature: 60 }),
    gpu('n2'),
  ]);
  expect(nodes).toHaveLength(2);
  expect(nodes[0]).toMatchObject({ gpus: 2, lost: 1, power: 500, memoryTotal: 80, hottest: 60 });
  expect(nodes[0].activity).toBeCloseTo(0.3);
});

test('what nobody measured is absent, not zero', () => {
  const [{ power, activity, hottest }] = nodesOf([gpu('n1', { power: null })]);
  expect([power, activity, hottest]).toEqual([undefined, undefined, undefined]);
});

test('nodes of one name in two clusters are two', () => {
  expect(nodesOf([gpu('n1'), gpu('n1', { cluster: 'south' })])).toHaveLength(2);
});

test('verdicts are counted, the most frequent first; none is unknown', () => {
  expect(countVerdicts([{ verdict: 'idle' }, { verdict: '' }, { verdict: 'idle' }])).toEqual([
    { verdict: 'idle', count: 2 },
    { verdict: 'unknown', count: 1 },
  ]);
});
