import { type VariableKind } from '../types';

/** A label that every type of query can be filtered by. */
export interface Dimension {
  key: string;
  label: string;
  /** The kind that lists its values. */
  kind: VariableKind;
  /** Exporters' own words for it, in lower case. */
  words: string[];
}

/** What GPUs and their owners are filtered by; PromQL queries take any label beside. */
export const DIMENSIONS: Dimension[] = [
  { key: 'cluster', label: 'Cluster', kind: 'cluster', words: [] },
  {
    key: 'node',
    label: 'Node',
    kind: 'node',
    words: ['hostname', 'kubernetes_node', 'nodename', 'k8s.node.name', 'k8s_node_name', 'host.name', 'host'],
  },
  { key: 'gpu', label: 'GPU index', kind: 'gpu', words: ['index', 'minor_number'] },
  { key: 'gpu_uuid', label: 'GPU UUID', kind: 'gpu', words: ['uuid', 'gpu.uuid'] },
  { key: 'model', label: 'Model', kind: 'model', words: ['modelname', 'model_name', 'gpu_name'] },
  { key: 'mig_id', label: 'MIG instance', kind: 'mig', words: ['gpu_i_id', 'gpu_instance_id'] },
  { key: 'mig_profile', label: 'MIG profile', kind: 'profile', words: ['gpu_i_profile'] },
  { key: 'namespace', label: 'Namespace', kind: 'namespace', words: ['exported_namespace', 'pod_namespace'] },
  { key: 'pod', label: 'Pod', kind: 'pod', words: ['exported_pod', 'pod_name'] },
  { key: 'job', label: 'Job', kind: 'job', words: ['hpc_job', 'slurm_job_id', 'slurm_job'] },
];

/** The dimension that a label names. */
export function dimensionOf(key: string): Dimension | undefined {
  const word = key.toLowerCase();
  return DIMENSIONS.find((dimension) => dimension.key === word || dimension.words.includes(word));
}
