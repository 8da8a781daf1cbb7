import { type VariableKind } from '../types';

/** A kind of value: how it is called, and which parents narrow it. */
export interface KindInfo {
  kind: VariableKind;
  label: string;
  /** The word of the shorthand. */
  plural: string;
  description: string;
  parents: VariableKind[];
}

export const KINDS: KindInfo[] = [
  { kind: 'cluster', label: 'Clusters', plural: 'clusters', description: 'By name', parents: [] },
  { kind: 'node', label: 'Nodes', plural: 'nodes', description: 'By name', parents: ['cluster'] },
  {
    kind: 'gpu',
    label: 'GPUs',
    plural: 'gpus',
    description: 'The value is the UUID, the text names node, index and model',
    parents: ['cluster', 'node'],
  },
  {
    kind: 'mig',
    label: 'MIG instances',
    plural: 'migs',
    description: 'The value is GPU UUID/instance id, the text names node, GPU and profile',
    parents: ['cluster', 'node', 'gpu'],
  },
  { kind: 'model', label: 'Models', plural: 'models', description: 'By name', parents: ['cluster', 'node'] },
];

/** What is known of a kind. */
export function kindInfo(kind: VariableKind): KindInfo {
  return KINDS.find((info) => info.kind === kind) ?? KINDS[1];
}

/** Where a parent's values are kept in a variable's query. */
export const PARENT_KEYS = { cluster: 'clusters', node: 'nodes', gpu: 'gpus' } as const;

export type ParentKind = keyof typeof PARENT_KEYS;

/** Whether a kind can be a parent. */
export function isParentKind(kind: string): kind is ParentKind {
  return kind in PARENT_KEYS;
}
