import { type GpuQuery, type ParentKey, type Parents, type Scope, type VariableKind } from '../types';

/** A field of the scope that can list its values. */
export interface ScopeField {
  key: keyof Scope;
  kind: VariableKind;
  label: string;
  placeholder: string;
  /** The levels above, which narrow its list. */
  parents: ParentKey[];
  /** Of what runs on the devices. */
  ofOwner?: boolean;
}

const PLACE: ParentKey[] = ['clusters', 'nodes'];

export const SCOPE_FIELDS: ScopeField[] = [
  { key: 'clusters', kind: 'cluster', label: 'Clusters', placeholder: 'All clusters', parents: [] },
  { key: 'nodes', kind: 'node', label: 'Nodes', placeholder: 'All nodes', parents: ['clusters'] },
  { key: 'gpus', kind: 'gpu', label: 'GPUs', placeholder: 'All GPUs', parents: PLACE },
  {
    key: 'migs',
    kind: 'mig',
    label: 'MIG instances',
    placeholder: 'All instances',
    parents: ['clusters', 'nodes', 'gpus'],
  },
  { key: 'models', kind: 'model', label: 'Models', placeholder: 'All models', parents: PLACE },
  {
    key: 'namespaces',
    kind: 'namespace',
    label: 'Namespaces',
    placeholder: 'All',
    parents: PLACE,
    ofOwner: true,
  },
  {
    key: 'pods',
    kind: 'pod',
    label: 'Pods',
    placeholder: 'All',
    parents: ['clusters', 'nodes', 'namespaces'],
    ofOwner: true,
  },
  {
    key: 'jobs',
    kind: 'job',
    label: 'Jobs',
    placeholder: 'All',
    parents: ['clusters', 'nodes', 'namespaces'],
    ofOwner: true,
  },
];

/** What a field's list is narrowed by. */
export function parentsOf({ parents }: ScopeField, query: GpuQuery): Parents {
  return Object.fromEntries(parents.map((key) => [key, query[key]]));
}
