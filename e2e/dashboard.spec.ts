import { expect, test } from './fixtures';
import { nodeLiveUid, pickNodes } from './fleet';

test('every panel of GPU node live shows data', async ({ dashboard, request }) => {
  // Boards that are split have no NVLink, and boards that are not have no instances.
  const { migNode, plainNode } = await pickNodes(request);
  await dashboard.open(nodeLiveUid, { 'var-cluster': '$__all', 'var-node': [migNode.node, plainNode.node] });

  const panels = dashboard.panels();
  expect(panels.length).toBeGreaterThan(10);
  for (const panel of panels) {
    await test.step(panel.name, async () => {
      await panel.waitForData();
      expect((await panel.summary()).errors).toEqual([]);
      await expect(panel.failure()).toHaveCount(0);
      await expect(panel.notice('error')).toHaveCount(0);
      await expect(panel.locator.getByTestId('panel-no-data')).toHaveCount(0);
    });
  }
});

test('the page says that it is not Grafana', async ({ dashboard }) => {
  await dashboard.open(nodeLiveUid);
  await expect(dashboard.page.getByTestId('preview-banner')).toContainText('not Grafana');
});
