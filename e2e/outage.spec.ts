import { demoState } from './demoState';
import { expect, test } from './fixtures';
import { nodeLiveUid, pickNodes, type Place } from './fleet';

/** Stops a process of the demo by its number, which the demo's state gives. */
function stop(name: string) {
  const found = demoState()?.processes.find((process) => process.name === name);
  if (!found) {
    throw new Error(
      `The demo runs no process ${name}: it has ${demoState()
        ?.processes.map((p) => p.name)
        .join(', ')}.`
    );
  }
  process.kill(found.pid, 'SIGKILL');
}

test.describe.configure({ mode: 'serial' });
test.skip(!process.env.DEMO_STATE, 'needs the processes of a demo stack (DEMO_STATE)');

let nodes: Awaited<ReturnType<typeof pickNodes>>;

test.beforeAll(async ({ request }) => {
  nodes = await pickNodes(request);
});

/** The address of the dashboard for one node. */
const only = ({ cluster, node }: Place) => ({ 'var-cluster': cluster, 'var-node': node, refresh: '' });

test('Prometheus is gone: a notice, and the live part goes on', async ({ dashboard }) => {
  const { plainNode } = nodes;
  await dashboard.open(nodeLiveUid, only(plainNode));
  const panel = dashboard.panel('SM active', 'timeseries');
  await panel.waitForData();
  await panel.waitForStream();

  stop(`prometheus-${plainNode.cluster}`);
  await dashboard.refresh();

  await expect(panel.notice('warning')).toHaveAttribute('aria-label', new RegExp(plainNode.cluster));
  await panel.waitForNewerRows(2000);
  expect((await panel.summary()).errors).toEqual([]);
});

test('an agent is gone: a notice, and the history goes on', async ({ dashboard }) => {
  const { otherNode } = nodes;
  await dashboard.open(nodeLiveUid, only(otherNode));
  const panel = dashboard.panel('SM active', 'timeseries');
  await panel.waitForData();
  await panel.waitForStream();

  stop(`agent-${otherNode.node}`);
  await dashboard.refresh();

  await expect(panel.notice('warning')).toHaveAttribute('aria-label', new RegExp(otherNode.node));
  await panel.waitForData();
  expect((await panel.summary()).errors).toEqual([]);
});

test('both are gone: the panel names both', async ({ dashboard }) => {
  const { plainNode } = nodes;
  stop(`agent-${plainNode.node}`);
  await dashboard.open(nodeLiveUid, only(plainNode));
  const panel = dashboard.panel('SM active', 'timeseries');
  await panel.show();

  // While the plugin still holds what the agent sent it shows that with notices; then there is nothing left but an error.
  const told = async () => [...(await panel.summary()).errors, ...(await panel.notices())].join('\n');
  await expect
    .poll(told, { message: 'what the panel says of Prometheus' })
    .toMatch(new RegExp(`${plainNode.cluster}:`));
  await expect.poll(told, { message: 'what the panel says of the agent' }).toMatch(new RegExp(plainNode.node));
});
