import { expect, type Locator } from '@playwright/test';

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

/** One panel of a dashboard in the preview. */
export class PanelObject {
  constructor(
    readonly locator: Locator,
    readonly name: string,
    private readonly scrollTo: (panel: Locator) => Promise<void>
  ) {}

  /** What the panel shows now. */
  async summary(): Promise<PanelSummary> {
    const none: PanelSummary = { state: 'none', rows: 0, series: [], lastTime: null, errors: [] };
    const element = this.locator.getByTestId('panel-data');
    const text = (await element.count()) > 0 ? await element.getAttribute('data-summary') : null;
    return text ? JSON.parse(text) : none;
  }

  /** The icon of the panel's notices of a severity; its label is their text. */
  notice(severity: 'info' | 'warning' | 'error'): Locator {
    return this.locator.getByTestId(`panel-notice-${severity}`);
  }

  /** The texts of all notices. */
  async notices(): Promise<string[]> {
    const icons = this.locator.locator('[data-testid^="panel-notice-"]');
    return icons.evaluateAll((all) => all.map((icon) => icon.getAttribute('aria-label') ?? ''));
  }

  /** The mark of a failed query. */
  failure(): Locator {
    return this.locator.getByTestId('data-testid Panel status error');
  }

  async show() {
    await this.scrollTo(this.locator);
  }

  /** Waits until a series has a value. */
  async waitForData() {
    await this.show();
    const filled = async () => (await this.summary()).series.filter(({ empty }) => !empty).length;
    await expect.poll(filled, { message: `series of ${this.name} with values` }).toBeGreaterThan(0);
  }

  async waitForStream() {
    await expect.poll(async () => (await this.summary()).state, { message: `state of ${this.name}` }).toBe('Streaming');
  }

  /** Waits until the newest row is later than the newest one now by more than the given time. */
  async waitForNewerRows(byMs = 0) {
    const { lastTime } = await this.summary();
    await expect
      .poll(async () => (await this.summary()).lastTime, { message: `time of the newest row of ${this.name}` })
      .toBeGreaterThan(Number(lastTime) + byMs);
  }
}
