import { groupsOf, judgedNodes } from './worstNodes';

const row = (node: string, severity: string, rest: Record<string, string> = {}) => ({
  cluster: 'north',
  node,
  severity,
  reason: `${node} is ${severity}`,
  rack: 'r1',
  nvlink_domain: '',
  ...rest,
});

test('a node is as bad as the worst of it, and the worst comes first', () => {
  const nodes = judgedNodes([row('n2', 'critical'), row('n1', 'warning'), row('n2', 'warning'), row('n2', 'ok')], []);
  expect(nodes.map(({ node, severity, needing }) => [node, severity, needing])).toEqual([
    ['n2', 'critical', 2],
    ['n1', 'warning', 1],
  ]);
  expect(nodes[0].sums).toBeUndefined();
});

test('nodes that share a rack or an NVLink domain are groups, the worst first', () => {
  const groups = groupsOf(
    judgedNodes(
      [row('n1', 'critical', { nvlink_domain: 'd2' }), row('n2', 'ok'), row('n3', 'warning', { rack: 'r2' })],
      []
    )
  );
  expect(groups).toEqual([
    { kind: 'NVLink domain', name: 'd2', nodes: ['n1'], severity: 'critical', needing: 1 },
    { kind: 'Rack', name: 'r1', nodes: ['n1', 'n2'], severity: 'critical', needing: 1 },
    { kind: 'Rack', name: 'r2', nodes: ['n3'], severity: 'warning', needing: 1 },
  ]);
});

test('nodes that say nothing of where they are are in no group', () => {
  expect(groupsOf(judgedNodes([row('n1', 'ok', { rack: '' })], []))).toEqual([]);
});
