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
}
