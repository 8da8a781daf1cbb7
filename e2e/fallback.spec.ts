import { type Page, type WebSocketRoute } from '@playwright/test';

import { expect, test } from './fixtures';
import { nodeLiveUid, pickNodes } from './fleet';

const LIVE_SOCKET = /\/api\/live\/ws/;
const NO_SOCKET = /Live updates are off: the browser has no WebSocket to Grafana/;

/** Counts the queries of a page from now on. */
function countQueries(page: Page): () => number {
  let queries = 0;
  page.on('request', (sent) => (queries += sent.url().includes('/api/ds/query') ? 1 : 0));
  return () => queries;
}

/** What stands between a page and the WebSocket of Grafana Live. It passes everything at first. */
async function proxyOf(page: Page) {
  let refuses = false;
  let tries = 0;
  const open = new Set<WebSocketRoute>();
  const end = async (socket: WebSocketRoute) => socket.close({ code: 1011, reason: 'refused' });
  await page.routeWebSocket(LIVE_SOCKET, async (socket) => {
    tries++;
    if (refuses) {
      await end(socket);
      return;
    }
    open.add(socket);
    socket.connectToServer();
  });
  return {
    tries: () => tries,
    pass: () => {
      refuses = false;
    },
    refuse: async () => {
      refuses = true;
      await Promise.all(Array.from(open, end));
      open.clear();
    },
  };
}

test('a refused WebSocket: the panel says so, polls, and goes on live when there is one', async ({
  dashboard,
  request,
}) => {
  const { plainNode } = await pickNodes(request);
  const proxy = await proxyOf(dashboard.page);
  await proxy.refuse();
  await dashboard.open(nodeLiveUid, { 'var-cluster': plainNode.cluster, 'var-node': plainNode.node, refresh: '' });
  const panel = dashboard.panel('SM active', 'timeseries');
  await panel.waitForData();
  await expect(panel.notice('warning')).toHaveAttribute('aria-label', NO_SOCKET);
  expect((await panel.summary()).errors).toEqual([]);

  // Twice, as a first answer may have been on its way.
  const polls = countQueries(dashboard.page);
  await panel.waitForNewerRows();
  await panel.waitForNewerRows();
  expect(polls(), 'queries in place of the stream').toBeGreaterThanOrEqual(1);
  expect(proxy.tries(), 'the WebSocket is tried again').toBeGreaterThan(1);

  proxy.pass();
  await expect
    .poll(() => panel.notices(), { message: 'notices once there is a WebSocket' })
    .not.toContainEqual(expect.stringMatching(NO_SOCKET));
  // Each panel asks once more, for what it missed.
  const queries = countQueries(dashboard.page);
  const queriesMeanwhile = async () => {
    const before = queries();
    await panel.waitForNewerRows(3000);
    return queries() - before;
  };
  await expect.poll(queriesMeanwhile, { message: 'queries while the panel goes on' }).toBe(0);
});

test('a WebSocket that is lost later: the panel keeps what it has, and polls', async ({ dashboard, request }) => {
  const { plainNode } = await pickNodes(request);
  const proxy = await proxyOf(dashboard.page);
  await dashboard.open(nodeLiveUid, { 'var-cluster': plainNode.cluster, 'var-node': plainNode.node, refresh: '' });
  const panel = dashboard.panel('SM active', 'timeseries');
  await panel.waitForData();
  await panel.waitForStream();
  const { rows } = await panel.summary();

  await proxy.refuse();
  await expect(panel.notice('warning')).toHaveAttribute('aria-label', NO_SOCKET);
  expect((await panel.summary()).rows, 'rows that are still shown').toBeGreaterThanOrEqual(rows / 2);
  await panel.waitForNewerRows();
});
