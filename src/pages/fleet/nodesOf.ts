import { numberOf, type Row, textOf } from '../shared/rows';

/** A node, by its GPUs; MIG instances count with the GPU that they are of. */
export interface NodeRow {
  cluster: string;
  node: string;
  models: string;
  gpus: number;
  /** Not there, or not answering. */
  lost: number;
  /** Mean of those that measure it. */
  activity?: number;
  memoryUsed?: number;
  memoryTotal?: number;
  power?: number;
  hottest?: number;
  agent: string;
}

/** The nodes of an inventory, in its order. */
export function nodesOf(inventory: Row[]): NodeRow[] {
  const byNode = new Map<string, Row[]>();
  for (const row of inventory) {
    const key = JSON.stringify([textOf(row, 'cluster'), textOf(row, 'node')]);
    byNode.set(key, [...(byNode.get(key) ?? []), row]);
  }
  return [...byNode.values()].map(nodeOf);
}

function nodeOf(rows: Row[]): NodeRow {
  const gpus = rows.filter((row) => textOf(row, 'mig_id') === '');
  const devices = gpus.length > 0 ? gpus : rows;
  const uuids = new Set(rows.map((row) => textOf(row, 'gpu_uuid') || textOf(row, 'gpu')));
  return {
    cluster: textOf(rows[0], 'cluster'),
    node: textOf(rows[0], 'node'),
    models: [...new Set(rows.map((row) => textOf(row, 'model')).filter(Boolean))].join(', '),
    gpus: uuids.size,
    lost: devices.filter((row) => textOf(row, 'state') !== 'present').length,
    activity: mean(known(rows, 'sm_active')),
    memoryUsed: sum(known(devices, 'memory_used')),
    memoryTotal: sum(known(devices, 'memory_total')),
    power: sum(known(devices, 'power')),
    hottest: most(known(devices, 'temperature')),
    agent: textOf(rows[0], 'agent'),
  };
}

function known(rows: Row[], column: string): number[] {
  return rows.map((row) => numberOf(row, column)).filter((value) => value !== undefined);
}

/** Nothing measured has no sum: it is not zero. */
function sum(values: number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0);
}

function mean(values: number[]): number | undefined {
  const total = sum(values);
  return total === undefined ? undefined : total / values.length;
}

function most(values: number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values);
}
