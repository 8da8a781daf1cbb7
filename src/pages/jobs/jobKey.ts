import { type Row, textOf } from '../shared/rows';

/** What names a job: a Slurm job has no namespace. */
export interface JobKey {
  cluster: string;
  namespace: string;
  job: string;
}

const GENERATED = /^(.+-\d+)-[bcdfghjklmnpqrstvwxz2-9]{5}$/;
const NUMBERED = /^(.+?)(-\d+)+$/;
const ROLE = /-(worker|master|launcher)$/;

/** What the pods of one job have in common, as the backend has it: `train` of `train-0`, `train-worker-3`, `train-0-x7k2p`. */
export function jobOfPod(pod: string): string {
  const stem = GENERATED.exec(pod)?.[1] ?? pod;
  const base = NUMBERED.exec(stem)?.[1] ?? stem;
  return base === pod ? pod : base.replace(ROLE, '');
}

/** The job that the owner of a device is; undefined where nobody is known to have it. */
export function jobOfOwner(row: Row): JobKey | undefined {
  const cluster = textOf(row, 'cluster');
  const [slurm, pod] = [textOf(row, 'slurm_job'), textOf(row, 'pod')];
  if (slurm !== '') {
    return { cluster, namespace: '', job: slurm };
  }
  return pod === '' ? undefined : { cluster, namespace: textOf(row, 'namespace'), job: jobOfPod(pod) };
}

/** The job of what reports of itself: that which it says, or else that of its pod. Servers say the name of their scrape. */
export function jobOfWorkload(row: Row, isServer: boolean): JobKey | undefined {
  const [named, pod] = [textOf(row, 'job'), jobOfPod(textOf(row, 'pod'))];
  const job = isServer ? pod || named : named || pod;
  return job === '' ? undefined : { ...jobOfRow(row), job };
}

/** The job of a row that names it. */
export function jobOfRow(row: Row): JobKey {
  return { cluster: textOf(row, 'cluster'), namespace: textOf(row, 'namespace'), job: textOf(row, 'job') };
}

export function sameJob(a: JobKey, b: JobKey): boolean {
  return keyText(a) === keyText(b);
}

export function keyText({ cluster, namespace, job }: JobKey): string {
  return JSON.stringify([cluster, namespace, job]);
}
