import { expect, test } from './fixtures';
import { pickNodes } from './fleet';

test('from what is wrong to the GPU and to what to do about it', async ({ app, page }) => {
  await app.open('');
  await app.page.getByRole('group', { name: 'Severities' }).getByRole('button', { name: /All/ }).click();
  const list = app.section('GPUs and nodes');
  await expect(list.getByRole('row').nth(1)).toBeVisible();
  await expect(page).toHaveURL(/severity=all/);

  await list
    .getByRole('link', { name: /^GPU \d/ })
    .first()
    .click();
  await expect(page).toHaveURL(/\/nodes\/.+\/gpus\/.+from=now-1h/);
  await expect(app.section('GPUs and MIG instances').getByRole('row').nth(1)).toBeVisible();

  await app.open('runbooks', { search: 'fallen off' });
  await page.getByRole('link', { name: 'GPU has fallen off the bus' }).click();
  await expect(app.title()).toHaveText('GPU has fallen off the bus');
  await expect(app.section('First look').getByRole('button', { name: /^Copy/ }).first()).toBeVisible();
});

test('lists are exported with every row', async ({ app, page }) => {
  await app.open('', { severity: 'all' });
  const downloaded = page.waitForEvent('download');
  await app.section('GPUs and nodes').getByRole('button', { name: 'CSV' }).click();
  expect((await downloaded).suggestedFilename()).toBe('gpu-health.csv');
});

for (const theme of ['dark', 'light']) {
  test(`no page keeps anybody out, ${theme}`, async ({ app, request }) => {
    const { migNode } = await pickNodes(request);
    const node = `fleet/nodes/${migNode.cluster}/${migNode.node}`;
    const cluster = `fleet/clusters/${migNode.cluster}`;
    const job = 'jobs/north/research/pretrain-7b';
    for (const path of [
      '',
      'fleet',
      cluster,
      node,
      'jobs',
      job,
      'coverage',
      'setup',
      'metrics',
      'runbooks',
      'runbooks/xid-79',
    ]) {
      await test.step(path, async () => {
        await app.open(path, { theme });
        await app.settled();
        expect(await app.barriers()).toEqual([]);
      });
    }
  });
}
