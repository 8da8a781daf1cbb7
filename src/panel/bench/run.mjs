// Measures the drawing of the fleet panel in Chromium and prints JSON: `node src/panel/bench/run.mjs [seconds]`.
// Both sides draw in the same page, in turn.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { chromium } from '@playwright/test';
import swc from '@swc/core';

const seconds = Number(process.argv[2] ?? 60);
const source = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '..');
const origin = 'http://bench.localhost';

/** Serves the panel's sources as modules. */
function answer(route) {
  const { pathname } = new URL(route.request().url());
  if (pathname === '/') {
    return route.fulfill({ contentType: 'text/html', body: '<!doctype html><body></body>' });
  }
  const file = path.join(source, `${pathname}.ts`);
  const { code } = swc.transformSync(readFileSync(file, 'utf8'), {
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
  });
  return route.fulfill({ contentType: 'text/javascript', body: code });
}

/** Draws frames for a while and takes how long the scripts of each took, and how long until it was drawn. */
async function measure([side, milliseconds, settles]) {
  const { newContest } = await import('/bench/page');
  const contest = (window.contest ??= newContest());
  const script = [];
  const drawn = [];
  const end = performance.now() + milliseconds;
  for (let frame = 0; performance.now() < end || script.length < 5; frame++) {
    await new Promise(requestAnimationFrame);
    const start = performance.now();
    contest[side](frame);
    script.push(performance.now() - start);
    if (settles) {
      contest.settle(side);
      drawn.push(performance.now() - start);
    }
  }
  return { script, drawn };
}

const middle = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

async function heap(session) {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize;
}

const executablePath =
  process.env.CHROMIUM_PATH ??
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--enable-precise-memory-info'],
});
try {
  const page = await browser.newPage({ viewport: { width: 1700, height: 1900 } });
  await page.route(`${origin}/**`, answer);
  await page.goto(`${origin}/`);
  await page.evaluate(measure, ['ours', 1000, true]);
  await page.evaluate(measure, ['rival', 1000, true]);
  const ours = await page.evaluate(measure, ['ours', 3000, true]);
  const rival = await page.evaluate(measure, ['rival', 3000, true]);
  const session = await page.context().newCDPSession(page);
  const before = await heap(session);
  const long = await page.evaluate(measure, ['ours', seconds * 1000, false]);
  const after = await heap(session);
  console.log(
    JSON.stringify({
      oursMs: middle(ours.drawn),
      rivalMs: middle(rival.drawn),
      oursScriptMs: middle(ours.script),
      rivalScriptMs: middle(rival.script),
      sustainedScriptMs: middle(long.script),
      framesPerSecond: long.script.length / seconds,
      heapBefore: before,
      heapAfter: after,
    })
  );
} finally {
  await browser.close();
}
