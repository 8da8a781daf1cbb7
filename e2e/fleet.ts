import { type APIRequestContext, expect } from '@playwright/test';

/** UIDs of the bundled data source and dashboard. */
export const datasourceUid = 'warpwatch';
export const nodeLiveUid = 'warpwatch-gpu-node-live';

/** Asks the data source for a resource. */
async function get<T>(request: APIRequestContext, path: string, params: Record<string, string> = {}): Promise<T> {
  const response = await request.get(`/api/datasources/uid/${datasourceUid}/resources/${path}`, { params });
  expect(response.ok(), await response.text()).toBe(true);
  return response.json();
}

/** A node of a cluster. */
export interface Place {
  cluster: string;
  node: string;
}

interface Places {
  migNode?: Place;
  plainNode?: Place;
  /** Without MIG instances too, in another cluster. */
  otherNode?: Place;
}

/** Nodes that run an agent: one that has MIG instances, and two of different clusters that have none. */
export async function pickNodes(request: APIRequestContext): Promise<Required<Places>> {
  let found: Places = {};
  await expect
    .poll(
      async () => {
        found = await findNodes(request);
        return Object.keys(found).sort();
      },
      { message: 'nodes of the demo that have agents' }
    )
    .toEqual(['migNode', 'otherNode', 'plainNode']);
  return found as Required<Places>;
}

async function findNodes(request: APIRequestContext): Promise<Places> {
  const found: Places = {};
  for (const { cluster, node } of await get<Place[]>(request, 'agents')) {
    const { values: migs } = await get<{ values: unknown[] }>(request, 'variables', { kind: 'mig', cluster, node });
    if (migs.length > 0) {
      found.migNode ??= { cluster, node };
    } else if (found.plainNode && found.plainNode.cluster !== cluster) {
      found.otherNode ??= { cluster, node };
    } else {
      found.plainNode ??= { cluster, node };
    }
  }
  return found;
}
