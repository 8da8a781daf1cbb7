import { existsSync } from 'node:fs';

import { defineConfig } from '@playwright/test';

import { previewUrl } from './e2e/demoState';

/** The browser of the tests: CHROMIUM_PATH or CHROMIUM, or else the distribution's. */
function chromium(): string {
  const named = process.env.CHROMIUM_PATH ?? process.env.CHROMIUM;
  const found = named ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!found || !existsSync(found)) {
    throw new Error(
      `The browser tests need Chromium${named ? `, and there is none at ${named}` : ''}: install Debian's package chromium, or name a browser with CHROMIUM_PATH.`
    );
  }
  return found;
}

/** The tests share one demo stack and run one after the other. */
export default defineConfig({
  testDir: './e2e',
  // The outage comes last: what it stops stays stopped.
  projects: [
    { name: 'healthy', testMatch: '*.spec.ts', testIgnore: 'outage.spec.ts' },
    { name: 'outage', testMatch: 'outage.spec.ts' },
  ],
  outputDir: './test-results',
  fullyParallel: false,
  workers: 1,
  forbidOnly: Boolean(process.env.CI),
  timeout: 180_000,
  expect: { timeout: 60_000 },
  reporter: [['list'], ['html', { open: 'never' }]],
  use: {
    baseURL: previewUrl(),
    viewport: { width: 1280, height: 900 },
    trace: 'retain-on-failure',
    screenshot: 'only-on-failure',
    launchOptions: { executablePath: chromium(), args: ['--disable-gpu'] },
  },
});
