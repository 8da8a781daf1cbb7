import { type GpuQuery } from '../../datasource/types';
import { type Row, textOf } from '../shared/rows';

/** Where in the fleet; '' for what the place does not go down to. */
export interface Place {
  cluster: string;
  node: string;
  /** Its UUID. */
  gpu: string;
  /** The id of the GPU instance. */
  mig: string;
}

/** What the inventory calls a device; addresses have its UUID, as an index may be another board's tomorrow. */
export interface Called {
  /** The UUID of the GPU. */
  of: string;
  index: string;
  model: string;
  /** Of each MIG instance by its id. */
  profiles: Readonly<Record<string, string>>;
}

/** Before the inventory has come. */
export const NOT_YET: Called = { of: '', index: '', model: '', profiles: {} };

export type PlaceScope = Pick<GpuQuery, 'clusters' | 'nodes' | 'gpus' | 'migs'>;

/** The scope of queries about a place. */
export function scopeOfPlace({ cluster, node, gpu, mig }: Place): PlaceScope {
  return {
    ...(cluster !== '' && { clusters: [cluster] }),
    ...(node !== '' && { nodes: [node] }),
    ...(gpu !== '' && { gpus: [gpu] }),
    ...(mig !== '' && { migs: [`${gpu}/${mig}`] }),
  };
}

/** What the rows of an inventory call a GPU and its MIG instances; undefined where none is of it. */
export function calledIn(rows: Row[], gpu: string): Called | undefined {
  const own = rows.filter((row) => gpu !== '' && textOf(row, 'gpu_uuid') === gpu);
  if (own.length === 0) {
    return undefined;
  }
  const profiles = own.map((row) => [textOf(row, 'mig_id'), textOf(row, 'mig_profile')] as const);
  return {
    of: gpu,
    index: textOf(own[0], 'gpu'),
    model: textOf(own[0], 'model'),
    profiles: Object.fromEntries(profiles.filter(([id]) => id !== '')),
  };
}

/** A GPU and its instance as people call them; '' for what the place does not go down to. */
export function namesOf({ gpu, mig }: Pick<Place, 'gpu' | 'mig'>, called: Called): { gpu: string; mig: string } {
  const known = called.of === gpu;
  return {
    gpu: gpu && known && called.index !== '' ? `GPU ${called.index}` : gpu,
    mig: mig && ['MIG', known && called.profiles[mig], `#${mig}`].filter(Boolean).join(' '),
  };
}
