import { expect, type Locator, type Page } from '@playwright/test';

/** What the tests put in the place of the provisioned data source and of its check. */
export interface StaticSettings {
  jsonData: object;
  secureJsonFields?: Record<string, boolean>;
  health?: object;
}

/** The data source's settings on the preview's page of editors. */
export class SettingsPage {
  readonly form: Locator;

  constructor(readonly page: Page) {
    this.form = page.getByRole('region', { name: 'Settings' });
  }

  async open({ jsonData, secureJsonFields = {}, health }: StaticSettings, params: Record<string, string> = {}) {
    await this.page.route(/\/api\/datasources\/uid\/[^/]+$/, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), jsonData, secureJsonFields } });
    });
    await this.page.route(/\/api\/datasources\/uid\/[^/]+\/health$/, (route) =>
      route.fulfill({ status: 400, json: health })
    );
    await this.page.goto(`/editors?${new URLSearchParams(params)}`);
    await expect(this.section('Clusters')).toBeVisible();
  }

  section(title: string): Locator {
    return this.form.getByRole('heading', { name: title, exact: true });
  }

  /** Opens every section and subsection. */
  async unfoldAll() {
    const folded = this.form.getByRole('button', { name: /^Expand section/ });
    while ((await folded.count()) > 0) {
      await folded.first().click();
    }
  }

  async unfold(title: string) {
    await this.form.getByRole('button', { name: `Expand section ${title}`, exact: true }).click();
  }
}
