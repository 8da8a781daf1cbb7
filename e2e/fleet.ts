import { type APIRequestContext, expect } from '@playwright/test';

/** UIDs of the bundled data source and dashboard. */
export const datasourceUid = 'warpwatch';
export const nodeLiveUid = 'warpwatch-gpu-node-live';

interface Value {
  value: string;
  text: string;
}

/** Asks the data source what there is of a kind below some parents. */
async function list(request: APIRequestContext, kind: string, parents: Record<string, string> = {}): Promise<Value[]> {
  const response = await request.get(`/api/datasources/uid/${datasourceUid}/resources/variables`, {
    params: { kind, ...parents },
  });
  expect(response.ok(), await response.text()).toBe(true);
  return (await response.json()).values;
}

/** The cluster and the name of a node that has MIG instances, and of another that has none. */
export async function pickNodes(request: APIRequestContext) {
  let found: { migNode?: Place; plainNode?: Place } = {};
  await expect
    .poll(
      async () => {
        found = await findNodes(request);
        return Boolean(found.migNode && found.plainNode);
      },
      { message: 'the demo has nodes with and without MIG instances' }
    )
    .toBe(true);
  return found as { migNode: Place; plainNode: Place };
}

/** Where a node is. */
export interface Place {
  cluster: string;
  node: string;
}

async function findNodes(request: APIRequestContext): Promise<{ migNode?: Place; plainNode?: Place }> {
  const found: { migNode?: Place; plainNode?: Place } = {};
  for (const { value: cluster } of await list(request, 'cluster')) {
    for (const { value: node } of await list(request, 'node', { cluster })) {
      const migs = await list(request, 'mig', { cluster, node });
      const gpus = await list(request, 'gpu', { cluster, node });
      if (migs.length > 0) {
        found.migNode ??= { cluster, node };
      } else if (gpus.length > 1) {
        found.plainNode ??= { cluster, node };
      }
    }
  }
  return found;
}
