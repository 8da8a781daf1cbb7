/** What a cell is named by, each with the columns or labels that say it, the first that has a text. */
export const DIMENSIONS = {
  cluster: ['cluster'],
  rack: ['rack', 'rack_id'],
  node: ['node', 'Hostname', 'hostname', 'instance'],
  gpu: ['gpu', 'gpu_index', 'index', 'minor_number'],
  gpu_uuid: ['gpu_uuid', 'uuid', 'UUID'],
  model: ['model', 'modelName'],
  mig_id: ['mig_id', 'GPU_I_ID'],
  compute_instance: ['compute_instance'],
  mig_profile: ['mig_profile', 'GPU_I_PROFILE'],
  job: ['slurm_job', 'job', 'owner', 'exported_pod', 'pod'],
  namespace: ['namespace', 'exported_namespace'],
  user: ['user'],
} as const satisfies Record<string, readonly string[]>;

export type Dimension = keyof typeof DIMENSIONS;

export const DIMENSION_NAMES = Object.keys(DIMENSIONS) as Dimension[];

export type Identity = Record<Dimension, string>;

/** Which cells the rows of a frame are; of time series, which cells its fields are. */
export interface Source {
  /** Index into the panel's frames. */
  frame: number;
  kind: 'table' | 'series';
  /** The newest row (or the field) of each cell, -1 where the frame does not know it. */
  rows: Int32Array;
}

/** Every GPU and MIG instance that the frames name. A cell is a GPU or a MIG instance. */
export interface Fleet {
  count: number;
  /** A text for each cell, "" where there is none. */
  texts: Record<Dimension, string[]>;
  /** The GPU that a MIG instance is of, -1 for a GPU. */
  parent: Int32Array;
  /** The MIG instances of GPU g are `slices[sliceStart[g]]` up to, and without, `slices[sliceStart[g + 1]]`. */
  sliceStart: Int32Array;
  slices: Int32Array;
  sources: Source[];
  /** Cells by what names them, to find them again in another fleet. */
  index: Map<string, number>;
}

export function slicesOf(fleet: Fleet, gpu: number): Int32Array {
  return fleet.slices.subarray(fleet.sliceStart[gpu], fleet.sliceStart[gpu + 1]);
}

/** How people call a cell: "node-3 GPU 2", "node-3 GPU 2 MIG 5 (1g.10gb)". */
export function nameOf(fleet: Fleet, cell: number): string {
  const { node, gpu, gpu_uuid, mig_id, mig_profile } = fleet.texts;
  const parts = [node[cell], `GPU ${gpu[cell] || gpu_uuid[cell]}`];
  if (fleet.parent[cell] >= 0) {
    parts.push(`MIG ${mig_id[cell]}${mig_profile[cell] ? ` (${mig_profile[cell]})` : ''}`);
  }
  return parts.filter((part) => part !== '').join(' ');
}
