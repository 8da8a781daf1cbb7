import { expect, test } from './fixtures';
import { nodeLiveUid, pickNodes } from './fleet';

test('every panel of GPU node live shows data', async ({ dashboard, request }) => {
  const { migNode } = await pickNodes(request);
  await dashboard.open(nodeLiveUid, { 'var-cluster': migNode.cluster, 'var-node': migNode.node });

  const titles = await dashboard.titles();
  expect(titles.length).toBeGreaterThan(10);
  for (const title of titles) {
    await test.step(title, async () => {
      const panel = dashboard.panel(title);
      await panel.waitForData();
      expect((await panel.summary()).errors).toEqual([]);
      await expect(panel.notice('error')).toHaveCount(0);
      await expect(panel.locator.getByTestId('panel-no-data')).toHaveCount(0);
    });
  }
});

test('the page says that it is not Grafana', async ({ dashboard }) => {
  await dashboard.open(nodeLiveUid);
  await expect(dashboard.page.getByTestId('preview-banner')).toContainText('not Grafana');
});
