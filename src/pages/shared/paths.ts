import { APP_ID, DATA_SOURCE_ID } from '../../shared/ids';
import { type GpuQuery } from '../../datasource/types';

const ROOT = `/a/${APP_ID}`;

/** The app's pages, as their addresses have them. */
export const PATHS = {
  health: ROOT,
  fleet: `${ROOT}/fleet`,
  jobs: `${ROOT}/jobs`,
  coverage: `${ROOT}/coverage`,
  metrics: `${ROOT}/metrics`,
  runbooks: `${ROOT}/runbooks`,
  setup: `${ROOT}/setup`,
  status: `${ROOT}/status`,
};

/** Parameters that a link keeps, so that the page behind it shows the same data source and time. */
export const KEPT = ['ds', 'from', 'to'];

/** The page of a cluster. */
export function clusterPath(cluster: string): string {
  return `${PATHS.fleet}/clusters/${segment(cluster)}`;
}

/** The page of a job: by its name in its cluster and namespace, either of which it may not have. */
export function jobPath({ cluster, namespace, job }: { cluster: string; namespace: string; job: string }): string {
  return `${PATHS.jobs}/${segment(cluster)}/${segment(namespace)}/${segment(job)}`;
}

/**
 * The page of a node. A node is named with its cluster: two clusters may have nodes of one name. Below the fleet, so that the
 * menu marks the fleet.
 */
export function nodePath(cluster: string, node: string): string {
  return `${PATHS.fleet}/nodes/${segment(cluster)}/${segment(node)}`;
}

/** The page of a GPU, or of one of its MIG instances. */
export function gpuPath({ cluster, node, gpu, mig }: { cluster: string; node: string; gpu: string; mig?: string }) {
  const parent = `${nodePath(cluster, node)}/gpus/${segment(gpu)}`;
  return mig ? `${parent}/mig/${segment(mig)}` : parent;
}

export function runbookPath(id: string): string {
  return `${PATHS.runbooks}/${segment(id)}`;
}

export function metricPath(name: string): string {
  return `${PATHS.metrics}/${segment(name)}`;
}

/** The address of a page with those parameters of the present one that it keeps. */
export function keeping(path: string, search: URLSearchParams): string {
  const kept = new URLSearchParams([...search].filter(([name]) => KEPT.includes(name)));
  const text = kept.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Explore with queries of a data source over a time range. */
export function explorePath(uid: string, queries: GpuQuery[], { from, to }: { from: string; to: string }): string {
  const datasource = { type: DATA_SOURCE_ID, uid };
  const pane = { datasource: uid, queries: queries.map((query) => ({ ...query, datasource })), range: { from, to } };
  return `/explore?${new URLSearchParams({ schemaVersion: '1', panes: JSON.stringify({ gpu: pane }) })}`;
}

/** An empty segment would join its neighbours: what has no cluster is written as a dash. */
function segment(text: string): string {
  return text === '' ? NONE : encodeURIComponent(text);
}

const NONE = '-';

/** The text that a segment of an address stands for; the router has decoded it. */
export function fromSegment(text: string | undefined): string {
  return text === undefined || text === NONE ? '' : text;
}
