import path from 'node:path';

import { expect, test } from './fixtures';
import { nodeLiveUid, pickNodes } from './fleet';

for (const theme of ['dark', 'light']) {
  for (const width of [1280, 1920]) {
    test(`screenshots, ${theme}, ${width} wide`, async ({ dashboard, editors, request }, { project }) => {
      const shot = (name: string) => path.join(project.outputDir, 'screenshots', `${name}-${theme}-${width}.png`);
      const { migNode } = await pickNodes(request);
      const { page } = dashboard;

      // As tall as the dashboard: panels below the window would stay empty.
      await page.setViewportSize({ width, height: 2900 });
      await dashboard.open(nodeLiveUid, { theme, 'var-cluster': migNode.cluster, 'var-node': migNode.node });
      for (const title of ['SM active', 'Temperature', 'GPUs now']) {
        await dashboard.panel(title).waitForData();
      }
      await dashboard.toTop();
      await expect(page.getByLabel('Panel loading bar')).toHaveCount(0);
      await page.screenshot({ path: shot('gpu-node-live'), animations: 'disabled' });

      await page.setViewportSize({ width, height: 1400 });
      await editors.open({ theme });
      await page.waitForLoadState('networkidle');
      await page.screenshot({ path: shot('editors'), animations: 'disabled' });
    });
  }
}
