import { expect, type Locator, type Page } from '@playwright/test';

import { PanelObject } from './PanelObject';

interface PanelModel {
  id: number;
  type: string;
  title: string;
}

/** A dashboard in the preview. */
export class DashboardPage {
  private models: PanelModel[] = [];

  constructor(readonly page: Page) {}

  /** Opens a dashboard; params are those of Grafana's addresses: var-node, from, to, refresh, theme. */
  async open(uid: string, params: Record<string, string | string[]> = {}) {
    const response = await this.page.request.get(`/api/dashboards/uid/${uid}`);
    expect(response.ok(), await response.text()).toBe(true);
    const { dashboard } = await response.json();
    this.models = dashboard.panels;
    const query = Object.entries(params).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
    await this.page.goto(`/d/${uid}?${new URLSearchParams(query)}`);
    await expect(this.page.getByTestId('preview-banner')).toBeVisible();
    await expect(this.page.locator('[data-viz-panel-key]').first()).toBeVisible();
  }

  /** All panels that show data, in the order of the dashboard's JSON, but for those of rows that are collapsed. */
  panels(): PanelObject[] {
    return this.models.filter(({ type }) => !['row', 'text'].includes(type)).map((model) => this.object(model));
  }

  /** A panel by its title, and by its type where two have the same title. */
  panel(title: string, type?: string): PanelObject {
    const model = this.models.find((panel) => panel.title === title && (!type || panel.type === type));
    if (!model) {
      throw new Error(
        `The dashboard has no ${type ?? ''} panel ${title}: ${this.models.map((p) => p.title).join(', ')}`
      );
    }
    return this.object(model);
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

  async refresh() {
    await this.page.getByTestId('data-testid RefreshPicker run button').click();
  }

  async toTop() {
    await this.page.evaluate(() => window.scrollTo(0, 0));
  }

  private object({ id, title, type }: PanelModel): PanelObject {
    return new PanelObject(this.page.locator(`[data-viz-panel-key="panel-${id}"]`), `${title} (${type})`, (top) =>
      this.scrollTo(id, top)
    );
  }

  /** Brings a panel on the page: those far from the window are made when they get near it. */
  private async scrollTo(id: number, panel: Locator) {
    await this.page.mouse.move(5, 400);
    for (let i = 0; (await panel.count()) === 0 && i < 60; i++) {
      await this.page.mouse.wheel(0, i === 0 ? -100_000 : 300);
      await this.page.waitForTimeout(100);
    }
    expect(await panel.count(), `panel ${id} is on the page`).toBe(1);
    await panel.scrollIntoViewIfNeeded();
  }

  private async toggle(label: string) {
    await this.page.getByLabel(label, { exact: true }).click();
  }
}
