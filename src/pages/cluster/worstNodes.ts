import { nodesOf, type NodeRow } from '../fleet/nodesOf';
import { type Row, textOf } from '../shared/rows';
import { SEVERITIES } from '../shared/severity';

/** A node with its worst judgement and what its GPUs do in all. */
export interface JudgedNode {
  node: string;
  severity: string;
  reason: string;
  /** The row of the table of health that the judgement is of. */
  worst: Row;
  /** GPUs, MIG instances and the node itself that ask for somebody. */
  needing: number;
  rack: string;
  domain: string;
  /** Absent where the inventory does not have it. */
  sums?: NodeRow;
}

/** Nodes that share something, and how they are. */
export interface Group {
  kind: 'NVLink domain' | 'Rack';
  name: string;
  nodes: string[];
  severity: string;
  needing: number;
}

const NEEDS_SOMEBODY = ['critical', 'warning', 'unknown'];

/** Nodes of a cluster out of rows of health, which has the worst first, and so have they. */
export function judgedNodes(health: Row[], inventory: Row[]): JudgedNode[] {
  const sums = new Map(nodesOf(inventory).map((row) => [row.node, row] as const));
  const nodes = new Map<string, JudgedNode>();
  for (const row of health) {
    const node = textOf(row, 'node');
    const known = nodes.get(node) ?? {
      node,
      severity: textOf(row, 'severity'),
      reason: textOf(row, 'reason'),
      worst: row,
      needing: 0,
      rack: '',
      domain: '',
      sums: sums.get(node),
    };
    nodes.set(node, {
      ...known,
      needing: known.needing + Number(NEEDS_SOMEBODY.includes(textOf(row, 'severity'))),
      rack: known.rack || textOf(row, 'rack'),
      domain: known.domain || textOf(row, 'nvlink_domain'),
    });
  }
  return [...nodes.values()];
}

/** The NVLink domains and racks that nodes say they are in, the worst first. */
export function groupsOf(nodes: JudgedNode[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { node, severity, needing, domain, rack } of nodes) {
    for (const { kind, name } of [
      { kind: 'NVLink domain' as const, name: domain },
      { kind: 'Rack' as const, name: rack },
    ].filter((one) => one.name !== '')) {
      const key = JSON.stringify([kind, name]);
      const group = groups.get(key) ?? { kind, name, nodes: [], severity, needing: 0 };
      groups.set(key, {
        ...group,
        nodes: [...group.nodes, node],
        severity: rank(severity) < rank(group.severity) ? severity : group.severity,
        needing: group.needing + needing,
      });
    }
  }
  return [...groups.values()].sort((a, b) => rank(a.severity) - rank(b.severity) || b.needing - a.needing);
}

/** How bad a severity is; the lower, the worse. */
export function rank(severity: string): number {
  const at = (SEVERITIES as readonly string[]).indexOf(severity);
  return at < 0 ? SEVERITIES.length : at;
}
