import AxeBuilder from '@axe-core/playwright';
import { expect, type Locator, type Page } from '@playwright/test';

/** A page of the app in the preview. */
export class AppPage {
  constructor(readonly page: Page) {}

  /** Opens a page by its path below the app; '' is the landing page. */
  async open(path: string, params: Record<string, string> = {}) {
    const query = new URLSearchParams({ from: 'now-1h', to: 'now', refresh: 'off', ...params });
    await this.page.goto(`/a/warpwatch-gpu-app${path === '' ? '' : `/${path}`}?${query}`);
    await expect(this.page.getByRole('heading', { level: 1 })).toBeVisible();
  }

  /** A part of the page, by its title. */
  section(name: string | RegExp): Locator {
    return this.page.getByRole('region', { name });
  }

  title(): Locator {
    return this.page.getByRole('heading', { level: 1 });
  }

  /** Waits until nothing is being asked any more. */
  async settled() {
    await expect(this.page.getByTestId('Spinner')).toHaveCount(0);
  }

  /** What somebody who cannot see or use a mouse stumbles over: the rule and what breaks it. */
  async barriers(): Promise<string[]> {
    const { violations } = await new AxeBuilder({ page: this.page })
      .include('main')
      // Grafana's own buttons in a panel's header, to end a stream and to cancel a slow query, have no name, and take none.
      .exclude('button[class*="panel-header-item"]')
      .analyze();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  }
}
