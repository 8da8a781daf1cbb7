import { readFileSync } from 'node:fs';

import groups from '../src/pages/setup/recorded.json';
import { expect, test } from './fixtures';
import { type StaticSetup } from './pages/SetupPage';

const OURS = { uid: 'gpu', type: 'warpwatch-gpu-datasource', access: 'proxy' };
const PROMETHEUS = { uid: 'prom', type: 'prometheus', access: 'proxy' };

const NOTHING: StaticSetup = {
  datasources: { 'Lab Prometheus': PROMETHEUS },
  answers: {
    '/api/search': [],
    '/api/datasources/uid/prom': {
      name: 'Lab Prometheus',
      url: 'http://prometheus.example.com:9090',
      basicAuth: true,
      basicAuthUser: 'grafana',
      secureJsonFields: { basicAuthPassword: true },
    },
  },
};

function coverageRow(cluster: string, dialect: string, exporters: number) {
  return {
    cluster,
    dialect,
    exporters,
    covered: 8 * exporters,
    total: 8 * exporters,
    metric: 'gpu_power_watts',
    subject: 'device',
    status: 'ok',
  };
}

const PARTLY: StaticSetup = {
  datasources: { GPUs: OURS },
  answers: {
    '/gpu/health': {
      status: 'OK',
      message: '2 of 2 servers answer',
      details: { verboseMessage: 'north: Prometheus 3.8.0 ok (12 ms)\nsouth: Mimir 2.17.0 ok (31 ms)' },
    },
    '/resources/variables': { values: [{ value: 'gpu-1', text: 'gpu-1' }], notices: [] },
    '/resources/coverage': {
      rows: [coverageRow('north', 'warpwatch', 12), coverageRow('north', 'dcgm', 40), coverageRow('south', 'dcgm', 7)],
      notices: [{ severity: 'info', text: 'No server of models and no training job is known in the cluster south.' }],
    },
    '/resources/agents/page': { agents: [], matched: 12, states: { idle: 11, refused: 1 }, sources: [], notices: [] },
    '/resources/rules': {
      servers: [
        { server: 'north', cluster: 'north', recorded: groups.flatMap(({ records }) => records) },
        { server: 'south', cluster: 'south', recorded: ['gpu:power_watts:sum_by_node'] },
      ],
      notices: [],
    },
  },
};

test('where nothing is connected, the landing page leads to the guide', async ({ setup, page }) => {
  await setup.serve(NOTHING);
  await setup.app.open('');
  await page.getByRole('link', { name: 'Set up Warpwatch' }).click();
  await expect(setup.app.title()).toHaveText('Setup');
  await setup.decided();
  expect(await setup.states()).toEqual(['todo', 'todo', 'todo', 'todo']);
});

test('where nothing is measured, the landing page leads to the guide', async ({ setup, page }) => {
  await setup.serve({
    ...PARTLY,
    answers: { ...PARTLY.answers, '/resources/variables': { values: [], notices: [] } },
  });
  await setup.app.open('');
  await expect(page.getByText('No GPU is measured yet')).toBeVisible();
  await page.getByRole('link', { name: 'Set up Warpwatch' }).click();
  await expect(page).toHaveURL(/\/setup\?ds=gpu/);
});

test('a data source is made by keyboard, after one of Prometheus', async ({ setup, page }) => {
  await setup.serve(NOTHING);
  let made: unknown;
  await page.route('**/api/datasources', (route) => {
    made = route.request().postDataJSON();
    return route.fulfill({ json: { datasource: { uid: 'new' } } });
  });
  await setup.open();
  const connect = setup.step('Connect Prometheus');
  await connect.getByLabel('Cluster').focus();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type('north');
  await page.keyboard.press('Enter');
  await expect(connect.getByRole('link', { name: 'Open its settings' })).toBeVisible();
  expect(made).toMatchObject({
    type: 'warpwatch-gpu-datasource',
    jsonData: { clusters: [{ name: 'north', endpoints: [{ url: 'http://prometheus.example.com:9090' }] }] },
  });
  expect(JSON.stringify(made)).not.toContain('secure');
});

test('each step says how far it is, with evidence', async ({ setup }) => {
  await setup.serve(PARTLY);
  await setup.open();
  await setup.decided();
  expect((await setup.states()).filter((_, i) => i !== 2)).toEqual(['done', 'partial', 'partial']);
  await expect(setup.step('Find agents').getByRole('row', { name: /dcgm-exporter 40 320/ })).toBeVisible();
  await expect(setup.step('Find agents')).toContainText('11 of 12 Warpwatch agents can be reached');
  await expect(setup.step('Load rules').getByRole('row', { name: /south Jobs and namespaces/ })).toContainText(
    'refused'
  );
});

test('commands and rules are there to take', async ({ setup, page }) => {
  await setup.serve(PARTLY);
  await setup.open();
  const agents = setup.step('Find agents');
  await agents.getByRole('tab', { name: 'Kubernetes' }).focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/on=kubernetes/);
  await expect(agents.getByRole('figure', { name: /^With Helm/ })).toContainText('helm -n warpwatch install');

  const downloaded = page.waitForEvent('download');
  await setup.step('Load rules').getByRole('button', { name: 'Recording rules' }).click();
  const file = await downloaded;
  expect(file.suggestedFilename()).toBe('warpwatch-recording.rules.yaml');
  expect(readFileSync(await file.path(), 'utf8')).toContain('record: gpu:power_watts:sum_by_node');
});

test('what cannot be asked keeps no other step from it', async ({ setup }) => {
  await setup.serve({ ...PARTLY, answers: { ...PARTLY.answers, '/resources/rules': 502, '/api/search': 403 } });
  await setup.open();
  await setup.decided();
  expect(await setup.states()).toEqual(['done', 'partial', 'unknown', 'unknown']);
  expect(await setup.app.barriers()).toEqual([]);
});

for (const theme of ['dark', 'light']) {
  for (const width of [1280, 1920]) {
    test(`the guide, ${theme}, ${width} wide`, async ({ setup, page }, testInfo) => {
      await page.setViewportSize({ width, height: 1000 });
      for (const [name, answers] of Object.entries({ nothing: NOTHING, partly: PARTLY })) {
        await page.unrouteAll();
        await setup.serve(answers);
        for (const environment of ['bare', 'kubernetes']) {
          await setup.open({ theme, on: environment });
          await setup.decided();
          await setup.app.settled();
          expect(await setup.app.barriers()).toEqual([]);
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
          await page.screenshot({
            path: testInfo.outputPath(`setup-${name}-${environment}-${theme}-${width}.png`),
            fullPage: true,
          });
        }
      }
    });
  }
}
