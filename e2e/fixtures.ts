import { test as base } from '@playwright/test';

import { previewUrl } from './demoState';
import { AppPage } from './pages/AppPage';
import { DashboardPage } from './pages/DashboardPage';
import { EditorsPage } from './pages/EditorsPage';
import { SettingsPage } from './pages/SettingsPage';
import { SetupPage } from './pages/SetupPage';

interface Fixtures {
  app: AppPage;
  dashboard: DashboardPage;
  editors: EditorsPage;
  settings: SettingsPage;
  setup: SetupPage;
}

/** Page objects come as fixtures. */
export const test = base.extend<Fixtures, { preview: void }>({
  preview: [
    async ({ playwright }, provide) => {
      const request = await playwright.request.newContext();
      const health = await (await request.get(`${previewUrl()}/api/health`)).json();
      await request.dispose();
      if (health.preview !== 'ok') {
        throw new Error(
          `${previewUrl()} is not a healthy preview (${JSON.stringify(health)}): the tests read what the preview tells of its panels, and Grafana does not. Start the demo without Grafana, or name a preview with PREVIEW_URL.`
        );
      }
      await provide();
    },
    { scope: 'worker', auto: true },
  ],
  app: async ({ page }, provide) => provide(new AppPage(page)),
  dashboard: async ({ page }, provide) => provide(new DashboardPage(page)),
  editors: async ({ page }, provide) => provide(new EditorsPage(page)),
  settings: async ({ page }, provide) => provide(new SettingsPage(page)),
  setup: async ({ page }, provide) => provide(new SetupPage(page)),
});

export { expect } from '@playwright/test';
