import { expect, test } from './fixtures';

test('the editors work against the provisioned data source', async ({ editors }) => {
  await editors.open();
  await expect(editors.query.getByRole('combobox').first()).toBeVisible();
  await expect(editors.settings.getByText('Prometheus', { exact: false }).first()).toBeVisible();
});
