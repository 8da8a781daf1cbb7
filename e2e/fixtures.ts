import { test as base } from '@playwright/test';

import { DashboardPage } from './pages/DashboardPage';
import { EditorsPage } from './pages/EditorsPage';

interface Fixtures {
  dashboard: DashboardPage;
  editors: EditorsPage;
}

/** Page objects come as fixtures. */
export const test = base.extend<Fixtures>({
  dashboard: async ({ page }, provide) => provide(new DashboardPage(page)),
  editors: async ({ page }, provide) => provide(new EditorsPage(page)),
});

export { expect } from '@playwright/test';
