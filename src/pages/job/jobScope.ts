import { type GpuQuery } from '../../datasource/types';
import { type JobKey } from '../jobs/jobKey';

export type JobScope = Pick<GpuQuery, 'clusters' | 'namespaces' | 'pods' | 'jobs'>;

/** As many pods are named one by one. */
const MOST_PODS = 500;

/** Where to look for what reports of a job: in its namespace, as not everything says which job it is of. */
export function searchedScope({ cluster, namespace, job }: JobKey): JobScope {
  return { ...placeOf(cluster, namespace), ...(namespace === '' && { jobs: [job] }) };
}

/** A job by the pods that report of it, or else by its own name: a Slurm job, or pods that are named after it. */
export function scopeOfJob({ cluster, namespace, job }: JobKey, pods: string[]): JobScope {
  const place = placeOf(cluster, namespace);
  if (pods.length > 0 && pods.length <= MOST_PODS) {
    return { ...place, pods };
  }
  return namespace === '' ? { ...place, jobs: [job] } : { ...place, pods: [podPattern(job)] };
}

/** Pods that are named as those of a job of a name are. */
function podPattern(job: string): string {
  const name = job.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  return `/${name}(-(worker|master|launcher))?(-[0-9]+)*(-[bcdfghjklmnpqrstvwxz2-9]{5})?/`;
}

function placeOf(cluster: string, namespace: string): JobScope {
  return {
    ...(cluster !== '' && { clusters: [cluster] }),
    ...(namespace !== '' && { namespaces: [namespace] }),
  };
}
