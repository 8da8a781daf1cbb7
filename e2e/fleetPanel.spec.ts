import AxeBuilder from '@axe-core/playwright';
import { type Page } from '@playwright/test';

import { expect, test } from './fixtures';
import { datasourceUid } from './fleet';
import { type FakeFleet, fleetDashboard, matrixFrame } from './fakeFleet';

const uid = 'fleet-panel-test';

/** Serves a dashboard with one fleet panel, and answers its query. */
async function serve(page: Page, fleet: FakeFleet, answer: object = { frames: [matrixFrame(fleet)], status: 200 }) {
  await page.route(`**/api/dashboards/uid/${uid}`, (route) => route.fulfill({ json: fleetDashboard(uid, fleet) }));
  await page.route('**/api/ds/query*', (route) => route.fulfill({ json: { results: { A: answer } } }));
}

async function open(page: Page, query = '') {
  await page.goto(`/d/${uid}?${query}`);
  return page.getByRole('application', { name: /GPU/ });
}

for (const theme of ['dark', 'light']) {
  for (const gpus of [8, 1000, 100_000]) {
    test(`${gpus} GPUs, ${theme}`, async ({ page }, testInfo) => {
      await serve(page, { gpus, absentEach: 13, migEach: gpus <= 1000 ? 4 : 0 });
      const map = await open(page, `theme=${theme}`);
      await expect(map).toBeVisible();
      await expect(page.getByRole('list', { name: /^Legend/ })).toContainText('no value');
      await page.waitForTimeout(300);
      await page.screenshot({ path: testInfo.outputPath(`fleet-${gpus}-${theme}.png`) });
      // What axe looks at is the same however many cells a canvas has.
      if (gpus <= 1000) {
        const found = await new AxeBuilder({ page }).include('[data-viz-panel-key]').analyze();
        expect(found.violations).toEqual([]);
      }
    });
  }
}

test('a keyboard reaches every cell, reads it, and opens its links', async ({ page }) => {
  await serve(page, { gpus: 16, absentEach: 0, migEach: 4 });
  const map = await open(page);
  await map.focus();
  await page.keyboard.press('ArrowRight');
  const said = page.getByTestId('fleet-announcement');
  await expect(said).toContainText('node-0 GPU 0');
  await page.keyboard.press('ArrowRight');
  await expect(said).toContainText('MIG 1 (3g.40gb)');
  await page.keyboard.press('End');
  await expect(said).toContainText('node-1 GPU 7');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog', { name: /node-1 GPU 7/ })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(map).toBeFocused();
});

test('dragging sets the variables of nodes', async ({ page }) => {
  await serve(page, { gpus: 16, absentEach: 0, migEach: 0 });
  const map = await open(page);
  const box = (await map.boundingBox())!;
  await page.mouse.move(box.x + 2, box.y + 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + box.height - 2, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/var-node=node-0&var-node=node-1/);
});

test('hovering tells what a cell is', async ({ page }, testInfo) => {
  await serve(page, { gpus: 16, absentEach: 0, migEach: 0 });
  const map = await open(page);
  const box = (await map.boundingBox())!;
  // In the first cell, which is below its group's name.
  await page.mouse.move(box.x + 30, box.y + 40);
  await expect(page.getByText(/node-0 GPU 0/).last()).toBeVisible();
  await page.screenshot({ path: testInfo.outputPath('fleet-hover.png') });
});

test('a table says the same', async ({ page }) => {
  await serve(page, { gpus: 16, absentEach: 3, migEach: 0 });
  await open(page);
  await page.getByRole('button', { name: 'Show as a table' }).click();
  await expect(page.getByRole('row')).toHaveCount(17);
  await expect(page.getByRole('cell', { name: 'no value' }).first()).toBeVisible();
});

test('an error, no permission and an empty answer say what to do', async ({ page }) => {
  const fleet = { gpus: 8, absentEach: 0, migEach: 0 };
  await serve(page, fleet, { frames: [], status: 200 });
  await page.goto(`/d/${uid}`);
  await expect(page.getByText('No GPU to show')).toBeVisible();
  await serve(page, fleet, { error: 'north: refused', status: 502 });
  await page.goto(`/d/${uid}`);
  await expect(page.getByText('north: refused').first()).toBeVisible();
  await page.route('**/api/ds/query*', (route) => route.fulfill({ status: 403, json: { message: 'Access denied' } }));
  await page.goto(`/d/${uid}`);
  await expect(page.getByText('You may not see these GPUs')).toBeVisible();
});

test('a group’s name tells how many GPUs it stands for', async ({ page }) => {
  await serve(page, { gpus: 16, absentEach: 0, migEach: 0 });
  const map = await open(page);
  const box = (await map.boundingBox())!;
  await page.mouse.move(box.x + 10, box.y + 10);
  await expect(page.getByText('node-0: 8 GPUs')).toBeVisible();
});

test('a cell leads to the pages of its GPU and its node, of the same time and data source', async ({ page }) => {
  await serve(page, { gpus: 16, absentEach: 0, migEach: 0, links: false });
  const map = await open(page);
  const box = (await map.boundingBox())!;
  await page.mouse.click(box.x + 30, box.y + 40);
  const card = page.getByRole('dialog', { name: /node-0 GPU 0/ });
  const search = `?from=now-5m&to=now&ds=${datasourceUid}`;
  const node = '/a/warpwatch-gpu-app/fleet/nodes/cluster-0/node-0';
  await expect(card.getByRole('link', { name: 'Open GPU' })).toHaveAttribute('href', `${node}/gpus/GPU-0${search}`);
  await expect(card.getByRole('link', { name: 'Open node' })).toHaveAttribute('href', `${node}${search}`);
  await page.keyboard.press('Escape');
  await page.mouse.dblclick(box.x + 30, box.y + 40);
  await expect(page).toHaveURL(new RegExp(`${node}/gpus/GPU-0`));
});
