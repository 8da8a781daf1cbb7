import { type GpuQuery } from '../../datasource/types';

/** Where in the fleet; '' for what the place does not go down to. */
export interface Place {
  cluster: string;
  node: string;
  /** Its UUID. */
  gpu: string;
  /** The id of the GPU instance. */
  mig: string;
}

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
