import { expect, type Locator, type Page } from '@playwright/test';

import { AppPage } from './AppPage';

/** What the tests put in the place of what Grafana and the data source answer. */
export interface StaticSetup {
  /** Data sources by name, as Grafana's settings list them. */
  datasources: Record<string, object>;
  /** Answers by the end of the path; a number is the status of a failure. */
  answers: Record<string, object | number>;
}

/** The page Setup, on static data. */
export class SetupPage {
  readonly app: AppPage;

  constructor(readonly page: Page) {
    this.app = new AppPage(page);
  }

  async serve({ datasources, answers }: StaticSetup) {
    await this.page.route('**/api/frontend/settings', async (route) => {
      const settings = await (await route.fetch()).json();
      const all: Record<string, { meta: object }> = settings.datasources;
      const [{ meta }] = Object.values(all);
      const own = Object.entries(datasources).map(([name, source]) => [name, { meta, jsonData: {}, ...source, name }]);
      await route.fulfill({ json: { ...settings, datasources: Object.fromEntries(own) } });
    });
    for (const [path, answer] of Object.entries(answers)) {
      await this.page.route(
        // The preview searches, too, for what Grafana tells an app of its dashboards.
        ({ pathname, search }) =>
          pathname.endsWith(path) && (path !== '/api/search' || search.includes('dashboardUIDs')),
        (route) =>
          typeof answer === 'number'
            ? route.fulfill({ status: answer, json: { message: `status ${answer}` } })
            : route.fulfill({ json: answer })
      );
    }
  }

  async open(params: Record<string, string> = {}) {
    await this.app.open('setup', params);
  }

  step(name: string): Locator {
    return this.app.section(name);
  }

  /** Waits until each step has a state other than that it looks. */
  async decided() {
    await expect(this.page.locator('section[data-state]')).toHaveCount(4);
    await expect(this.page.locator('section[data-state="asking"]')).toHaveCount(0);
  }

  /** The states of the steps, from the first. */
  async states(): Promise<string[]> {
    return this.page.locator('section[data-state]').evaluateAll((all) => all.map((one) => one.dataset.state ?? ''));
  }
}
