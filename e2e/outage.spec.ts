import { demoState } from './demoState';
import { expect, test } from './fixtures';
import { nodeLiveUid, pickNodes } from './fleet';

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

test('Prometheus is gone: a notice, and the live part goes on', async ({ dashboard, request }) => {
  const { plainNode } = await pickNodes(request);
  await dashboard.open(nodeLiveUid, { 'var-cluster': plainNode.cluster, 'var-node': plainNode.node, refresh: '' });
  const panel = dashboard.panel('SM active');
  await panel.waitForData();
  await panel.waitForStream();

  stop(`prometheus-${plainNode.cluster}`);
  await dashboard.refresh();

  await expect(panel.notice('warning')).toBeVisible();
  await expect(panel.notice('warning')).toHaveAttribute('aria-label', new RegExp(plainNode.cluster));
  const { lastTime } = await panel.summary();
  await expect.poll(async () => (await panel.summary()).lastTime).toBeGreaterThan(Number(lastTime) + 2000);
  expect((await panel.summary()).errors).toEqual([]);
});
