import AxeBuilder from '@axe-core/playwright';
import { type Page } from '@playwright/test';

import { EVERYTHING } from '../src/datasource/config/test/everything';
import { expect, test } from './fixtures';

const HEALTH = {
  status: 'ERROR',
  message:
    'Prometheus north-a 3.8.0 ok (12 ms), Prometheus north-b failed: endpoint north-b: it refuses connections: check that it runs',
  details: {
    servers: [
      {
        id: 'north-a',
        cluster: 'north',
        replica: true,
        flavour: 'Prometheus',
        version: '3.8.0',
        latencyMs: 12,
        exporters: ['warpwatch', 'dcgm'],
        next: ['No exporter measures gpu_power_watts; a query of the type coverage says what to turn on.'],
        error: '',
      },
      {
        id: 'north-b',
        cluster: 'north',
        replica: true,
        flavour: 'Prometheus',
        version: '',
        latencyMs: 0,
        exporters: [],
        next: [],
        error: 'endpoint north-b: it refuses connections: check that it runs',
      },
    ],
    agents: {
      known: 40,
      connected: 1,
      gpus: 8,
      tried: [
        agent('gpu-1', { state: 'connected', version: '0.9.0', devices: 8 }),
        agent('gpu-2', { state: 'refused', error: 'gpu-2:9847 is not in agents.allow: add it' }),
      ],
      notes: ['Agents by prometheus: 40 found.', 'Agent versions: 0.9.0 on 1 nodes.'],
    },
    alertmanagers: ['Alertmanager alerts ok: 3 alerts, 1 silences'],
    unknown: ['agents.alow'],
  },
};

function agent(node: string, part: object) {
  return {
    cluster: 'north',
    node,
    address: `${node}:9847`,
    state: 'idle',
    error: '',
    version: '',
    devices: 0,
    ...part,
  };
}

async function violations(page: Page) {
  // Grafana's own part of the page is Grafana's to mend.
  const grafana = '[data-setting="oauthPassThru"]';
  const found = await new AxeBuilder({ page }).include('section[aria-label="Settings"]').exclude(grafana).analyze();
  return found.violations.map(({ id, nodes }) => `${id} at ${nodes.map(({ html }) => html).join('\n')}`);
}

test('only the clusters are open at first, and one button begins', async ({ settings, page }) => {
  await settings.open({ jsonData: {} });
  await expect(settings.form.getByRole('button', { name: /^Collapse section/ })).toHaveCount(1);
  await expect(settings.section('Connections')).toHaveCount(0);
  await settings.form.getByRole('button', { name: 'Add cluster' }).focus();
  await page.keyboard.press('Enter');
  await expect(settings.form.getByLabel('Name')).toBeFocused();
  await page.keyboard.press('Tab');
  expect(await violations(page)).toEqual([]);
});

test('servers and agents are told of one by one, with what to do next', async ({ settings, page }) => {
  await settings.open({ jsonData: EVERYTHING, health: HEALTH });
  await settings.form.getByRole('button', { name: 'Check connections' }).click();
  const servers = settings.form.getByRole('table').first();
  await expect(servers.getByRole('row', { name: /north-a/ })).toContainText('Prometheus 3.8.0');
  await expect(servers.getByRole('row', { name: /north-a/ })).toContainText('No exporter measures gpu_power_watts');
  await expect(servers.getByRole('row', { name: /north-b/ })).toContainText('check that it runs');
  const agents = settings.form.getByRole('table').nth(1);
  await expect(agents.getByRole('row').nth(1)).toContainText('add it');
  await expect(settings.form).toContainText('Tried 2 of 40 agents.');
  expect(await violations(page)).toEqual([]);
});

for (const theme of ['dark', 'light']) {
  for (const width of [1280, 1920]) {
    test(`every section, ${theme}, ${width} wide`, async ({ settings, page }, testInfo) => {
      await page.setViewportSize({ width, height: 1000 });
      await settings.open(
        { jsonData: EVERYTHING, secureJsonFields: { 'endpoint_north-a_password': true }, health: HEALTH },
        { theme }
      );
      await settings.form.getByRole('button', { name: 'Check connections' }).click();
      await expect(settings.form.getByRole('table').first()).toBeVisible();
      await settings.form.screenshot({ path: testInfo.outputPath(`settings-folded-${theme}-${width}.png`) });
      await settings.unfoldAll();
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      await settings.form.screenshot({ path: testInfo.outputPath(`settings-${theme}-${width}.png`) });
    });
  }
}
