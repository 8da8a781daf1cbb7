import { expect, type Locator, type Page } from '@playwright/test';

/** The preview's page with the plugin's editors. */
export class EditorsPage {
  readonly query: Locator;
  readonly settings: Locator;

  constructor(readonly page: Page) {
    this.query = page.getByRole('region', { name: 'Query' });
    this.settings = page.getByRole('region', { name: 'Settings' });
  }

  async open(params: Record<string, string> = {}) {
    await this.page.goto(`/editors?${new URLSearchParams(params)}`);
    await expect(this.query).toBeVisible();
    await expect(this.settings).toBeVisible();
  }

  /** Chooses the query's type by its name. */
  async chooseType(name: string) {
    await this.query.getByLabel('Query type').click();
    await this.page.getByRole('option', { name: new RegExp(`^${name}\\b`) }).click();
    await expect(this.query.getByLabel('Query type')).toHaveValue(name);
  }

  /** Opens a group of fields that is folded away. */
  async unfold(title: string) {
    const header = this.query.getByRole('button', { name: new RegExp(`^${title}\\b`) });
    await header.click();
    await expect(header).toHaveAttribute('aria-expanded', 'true');
  }
}
