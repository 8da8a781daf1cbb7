import { expect, type Locator, type Page } from '@playwright/test';

/** What a panel of the preview was given; times are in milliseconds. */
export interface PanelSummary {
  state: string;
  rows: number;
  series: SeriesSummary[];
  lastTime: number | null;
  errors: string[];
}

/** A column of values; it is empty when it holds nothing but nulls. */
export interface SeriesSummary {
  name: string;
  labels: Record<string, string>;
  empty: boolean;
}

/** A dashboard in the preview. */
export class DashboardPage {
  constructor(readonly page: Page) {}

  /** Opens a dashboard; params are those of Grafana's addresses: var-node, from, to, refresh, theme. */
  async open(uid: string, params: Record<string, string> = {}) {
    await this.page.goto(`/d/${uid}?${new URLSearchParams(params)}`);
    await expect(this.page.getByTestId('preview-banner')).toBeVisible();
    await expect(this.panels().first()).toBeVisible();
  }

  /** All panels that are on the page now; those far below the window are made when it gets there. */
  panels(): Locator {
    return this.page.locator('section[data-testid^="data-testid Panel header"]');
  }

  panel(title: string): PanelObject {
    return new PanelObject(this.page.getByTestId(`data-testid Panel header ${title}`).first());
  }

  /** Scrolls through the page and returns the titles of its panels, in order. */
  async titles(): Promise<string[]> {
    const titles: string[] = [];
    await this.page.mouse.move(640, 700);
    for (let before = -1; titles.length > before || (await this.canScroll()); await this.page.mouse.wheel(0, 400)) {
      before = titles.length;
      for (const panel of await this.panels().all()) {
        const title = ((await panel.getAttribute('data-testid')) ?? '').replace('data-testid Panel header ', '');
        if (!titles.includes(title)) {
          titles.push(title);
        }
      }
      await this.page.waitForTimeout(200);
    }
    await this.page.evaluate(() => window.scrollTo(0, 0));
    return titles;
  }

  /** The values that a variable offers. */
  async options(label: string): Promise<string[]> {
    await this.toggle(label);
    const options = this.page.getByRole('option');
    await expect(options.first()).toBeVisible();
    const texts = await options.allInnerTexts();
    await this.page.keyboard.press('Escape');
    return texts.map((text) => text.trim());
  }

  /** Makes a value the only one of a variable, be it of one or of many values. */
  async choose(label: string, text: string | RegExp) {
    await this.toggle(label);
    const option = this.page.getByRole('option').filter({ hasText: text }).first();
    await expect(option).toBeVisible();
    if ((await option.getAttribute('aria-selected')) !== 'true') {
      await option.click();
    }
    // The list of a multi-value variable stays open, with what was chosen before still chosen; All gives way by itself.
    const others = this.page.locator('[role="option"][aria-selected="true"]').filter({ hasNotText: text });
    while ((await others.count()) > 0) {
      await others.first().click();
    }
    await this.page.keyboard.press('Escape');
    await this.page.getByTestId('preview-banner').click();
  }

  /** The texts of a variable's values. */
  value(label: string): Locator {
    return this.variable(label).locator('xpath=..');
  }

  async refresh() {
    await this.page.getByTestId('data-testid RefreshPicker run button').click();
  }

  private variable(label: string): Locator {
    return this.page.getByTestId(`data-testid Dashboard template variables submenu Label ${label}`);
  }

  private async toggle(label: string) {
    await this.page.getByLabel(label, { exact: true }).click();
  }

  private canScroll(): Promise<boolean> {
    return this.page.evaluate(() => window.innerHeight + window.scrollY < document.documentElement.scrollHeight - 1);
  }
}

/** One panel. */
export class PanelObject {
  constructor(readonly locator: Locator) {}

  /** What the panel shows now. */
  async summary(): Promise<PanelSummary> {
    return JSON.parse((await this.locator.getByTestId('panel-data').getAttribute('data-summary')) ?? '{}');
  }

  notice(severity: 'info' | 'warning' | 'error'): Locator {
    return this.locator.getByTestId(`panel-notice-${severity}`);
  }

  async waitForData() {
    await this.locator.scrollIntoViewIfNeeded();
    const filled = async () => (await this.summary()).series?.filter(({ empty }) => !empty).length;
    await expect.poll(filled, { message: 'series with values' }).toBeGreaterThan(0);
  }

  async waitForStream() {
    await expect.poll(async () => (await this.summary()).state, { message: 'state of the panel' }).toBe('Streaming');
  }
}
