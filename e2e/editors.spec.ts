import AxeBuilder from '@axe-core/playwright';

import { expect, test } from './fixtures';

test('the editors work against the provisioned data source', async ({ editors }) => {
  await editors.open();
  await expect(editors.query.getByRole('combobox').first()).toBeVisible();
  await expect(editors.settings.getByText('Prometheus', { exact: false }).first()).toBeVisible();
});

const TYPES: Array<[type: string, field: string]> = [
  ['Metric', 'One series per'],
  ['PromQL', 'Expression'],
  ['Inventory', 'Most rows'],
  ['Processes', 'Most rows'],
  ['Events', 'Kinds'],
  ['Coverage', 'Clusters'],
  ['Bottleneck', 'Show'],
  ['Health', 'Severity'],
  ['Efficiency', 'Split by'],
  ['Forecast', 'Limit'],
  ['Anomaly', 'Against'],
];

test('every type of query has its fields, without faults of accessibility', async ({ editors, page }) => {
  await editors.open();
  for (const [type, field] of TYPES) {
    await editors.chooseType(type);
    await expect(editors.query.getByLabel(field, { exact: true })).toBeVisible();
    const { violations } = await new AxeBuilder({ page }).include('section[aria-label="Query"]').analyze();
    expect(violations.map(({ id, nodes }) => `${type}: ${id} at ${nodes[0].html}`)).toEqual([]);
  }
});

test('an expression is highlighted, checked and completed', async ({ editors, page }) => {
  await editors.open({ query: JSON.stringify({ queryType: 'promql', schemaVersion: 1, expr: '' }) });
  const expression = editors.query.getByLabel('Expression', { exact: true });
  await expression.click();
  await page.keyboard.type('sum by (node) (rate(x[$__');
  const macros = page.getByRole('option', { name: /\$__rate_interval$/ });
  await expect(macros).toBeVisible();
  await page.keyboard.press('Escape');
  await expression.fill('rate(x)');
  await expect(editors.query.locator('.cm-lintRange-error')).toBeVisible();
  await expression.fill('max by ($__gpu_identity) (x{$__gpu_filter})');
  await expect(editors.query.locator('.warpwatch-macro')).toHaveCount(2);
  await expect(editors.query.locator('.cm-lintRange-error')).toHaveCount(0);
});
