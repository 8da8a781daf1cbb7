import { type ParentKey, type VariableKind } from '../types';

/** A kind that narrows others. */
export type ParentKind = 'cluster' | 'node' | 'gpu' | 'model' | 'namespace' | 'pod' | 'job';

/** A kind of value: how it is called, and which parents narrow it. */
export interface KindInfo {
  kind: VariableKind;
  label: string;
  /** The word of the shorthand. */
  plural: string;
  description: string;
  /** Every kind can be narrowed by every parent; these are those that the editor offers. */
  parents: ParentKind[];
}

export const KINDS: KindInfo[] = [
  { kind: 'cluster', label: 'Clusters', plural: 'clusters', description: 'By name', parents: [] },
  { kind: 'node', label: 'Nodes', plural: 'nodes', description: 'By name', parents: ['cluster', 'model', 'namespace'] },
  {
    kind: 'gpu',
    label: 'GPUs',
    plural: 'gpus',
    description: 'The value is the UUID, the text names node, index and model',
    parents: ['cluster', 'node', 'model', 'namespace', 'pod', 'job'],
  },
  {
    kind: 'mig',
    label: 'MIG instances',
    plural: 'migs',
    description: 'The value is GPU UUID/instance id, the text names node, GPU and profile',
    parents: ['cluster', 'node', 'gpu', 'namespace', 'pod'],
  },
  { kind: 'model', label: 'Models', plural: 'models', description: 'By name', parents: ['cluster', 'node'] },
  {
    kind: 'profile',
    label: 'MIG profiles',
    plural: 'profiles',
    description: 'How GPUs are split, such as 1g.10gb',
    parents: ['cluster', 'node', 'gpu'],
  },
  {
    kind: 'namespace',
    label: 'Namespaces',
    plural: 'namespaces',
    description: 'Of the pods that have GPUs',
    parents: ['cluster', 'node'],
  },
  {
    kind: 'pod',
    label: 'Pods',
    plural: 'pods',
    description: 'That have GPUs in the time range',
    parents: ['cluster', 'node', 'namespace', 'job'],
  },
  {
    kind: 'job',
    label: 'Jobs',
    plural: 'jobs',
    description: 'Batch jobs that have GPUs in the time range',
    parents: ['cluster', 'node', 'namespace'],
  },
];

/** What is known of a kind. */
export function kindInfo(kind: VariableKind): KindInfo {
  return KINDS.find((info) => info.kind === kind) ?? KINDS[1];
}

/** Where a parent's values are kept in a variable's query. */
export const PARENT_KEYS = {
  cluster: 'clusters',
  node: 'nodes',
  gpu: 'gpus',
  model: 'models',
  namespace: 'namespaces',
  pod: 'pods',
  job: 'jobs',
} as const satisfies Record<ParentKind, ParentKey>;

/** Whether a kind can be a parent. */
export function isParentKind(kind: string): kind is ParentKind {
  return kind in PARENT_KEYS;
}
