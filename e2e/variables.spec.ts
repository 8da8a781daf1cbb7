import { type DashboardPage } from './pages/DashboardPage';
import { expect, test } from './fixtures';
import { nodeLiveUid, pickNodes } from './fleet';

/** Waits until the panel's series all carry what was chosen, and returns the values of a label. */
async function expectLabel(
  dashboard: DashboardPage,
  title: string,
  label: string,
  matches: (value: string) => boolean
) {
  const panel = dashboard.panel(title);
  await panel.show();
  const values = async () => {
    const { series } = await panel.summary();
    return series.map(({ labels }) => labels[label]);
  };
  await expect
    .poll(async () => (await values()).length > 0 && (await values()).every(matches), {
      message: `${label} of ${title}`,
    })
    .toBe(true);
  return new Set(await values());
}

test('panels follow cluster, node and GPU', async ({ dashboard, request }) => {
  const { migNode, plainNode } = await pickNodes(request);
  await dashboard.open(nodeLiveUid, { 'var-cluster': migNode.cluster, 'var-node': migNode.node });
  await expectLabel(dashboard, 'Temperature', 'node', (node) => node === migNode.node);

  await dashboard.toTop();
  await dashboard.choose('Cluster', plainNode.cluster);
  await dashboard.choose('Node', plainNode.node);
  const all = await expectLabel(dashboard, 'Temperature', 'node', (node) => node === plainNode.node);
  expect(all).toEqual(new Set([plainNode.node]));
  const before = (await dashboard.panel('Temperature').summary()).series.length;
  expect(before).toBeGreaterThan(1);

  await dashboard.toTop();
  await dashboard.choose('GPU', / GPU 1 /);
  const gpus = await expectLabel(dashboard, 'Temperature', 'gpu_uuid', () => true);
  await expect.poll(async () => (await dashboard.panel('Temperature').summary()).series.length).toBeLessThan(before);
  expect(gpus.size).toBeGreaterThan(0);
  await expect(dashboard.page).toHaveURL(/var-gpu=GPU-/);
});

test('panels follow MIG instances', async ({ dashboard, request }) => {
  const { migNode } = await pickNodes(request);
  await dashboard.open(nodeLiveUid, { 'var-cluster': migNode.cluster, 'var-node': migNode.node });
  const title = 'SM active by instance';
  await dashboard.panel(title).waitForData();
  const before = (await dashboard.panel(title).summary()).series.length;

  await dashboard.toTop();
  await dashboard.choose('MIG instance', /MIG .* #/);

  await dashboard.panel(title).show();
  await expect.poll(async () => (await dashboard.panel(title).summary()).series.length).toBe(1);
  expect(before).toBeGreaterThan(1);
});

test('a variable offers the values below its parents only', async ({ dashboard, request }) => {
  const { migNode, plainNode } = await pickNodes(request);
  await dashboard.open(nodeLiveUid, { 'var-cluster': plainNode.cluster, 'var-node': plainNode.node });
  await dashboard.panel('Temperature').waitForData();
  await dashboard.toTop();
  const gpus = await dashboard.options('GPU');
  expect(gpus.filter((text) => text.includes(migNode.node))).toEqual([]);
  expect(gpus.some((text) => text.includes('GPU 0'))).toBe(true);
});
