import { type GpuQuery, type Scope, type VariableKind } from '../types';

/** A field of the scope that can list its values. */
export interface ScopeField {
  key: keyof Scope & ('clusters' | 'nodes' | 'gpus' | 'migs' | 'models');
  kind: VariableKind;
  label: string;
  placeholder: string;
}

export const SCOPE_FIELDS: ScopeField[] = [
  { key: 'clusters', kind: 'cluster', label: 'Clusters', placeholder: 'All clusters' },
  { key: 'nodes', kind: 'node', label: 'Nodes', placeholder: 'All nodes' },
  { key: 'gpus', kind: 'gpu', label: 'GPUs', placeholder: 'All GPUs' },
  { key: 'migs', kind: 'mig', label: 'MIG instances', placeholder: 'All instances' },
  { key: 'models', kind: 'model', label: 'Models', placeholder: 'All models' },
];

/** What a field's list is narrowed by: everything above it in the hierarchy. */
export function parentsOf(kind: VariableKind, query: GpuQuery): Pick<GpuQuery, 'clusters' | 'nodes' | 'gpus'> {
  switch (kind) {
    case 'cluster':
      return {};
    case 'node':
      return { clusters: query.clusters };
    case 'gpu':
    case 'model':
      return { clusters: query.clusters, nodes: query.nodes };
    case 'mig':
      return { clusters: query.clusters, nodes: query.nodes, gpus: query.gpus };
  }
}
