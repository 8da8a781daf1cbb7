import { type PanelObject } from './pages/PanelObject';
import { expect, test } from './fixtures';
import { nodeLiveUid, pickNodes } from './fleet';

/** Records every summary that the panel shows from now on; the function returned gives them. */
async function record(
  panel: PanelObject
): Promise<() => Promise<Array<{ rows: number; lastTime: number; state: string }>>> {
  const handle = await panel.locator.evaluateHandle((section) => {
    const seen: Array<{ rows: number; lastTime: number; state: string }> = [];
    const note = () => {
      const summary = section.querySelector('[data-testid="panel-data"]')?.getAttribute('data-summary');
      seen.push(summary ? JSON.parse(summary) : { rows: 0, lastTime: 0, state: 'gone' });
    };
    new MutationObserver(note).observe(section, { subtree: true, childList: true, attributeFilter: ['data-summary'] });
    return seen;
  });
  return () => handle.jsonValue();
}

test('values arrive through the stream, without a refresh', async ({ dashboard, request }) => {
  const { plainNode } = await pickNodes(request);
  await dashboard.open(nodeLiveUid, { 'var-cluster': plainNode.cluster, 'var-node': plainNode.node, refresh: '' });
  const panel = dashboard.panel('SM active', 'timeseries');
  await panel.waitForData();
  await panel.waitForStream();
  let queries = 0;
  dashboard.page.on('request', (sent) => (queries += sent.url().includes('/api/ds/query') ? 1 : 0));

  // On a busy machine other panels are still asking for the first time: one stretch without a question is looked for.
  await expect(async () => {
    queries = 0;
    await panel.waitForNewerRows(3000);
    expect(queries, 'queries while the panel went on').toBe(0);
  }).toPass({ timeout: 90_000 });
});

test('the numbers of a stat panel move', async ({ dashboard, request }) => {
  const { plainNode } = await pickNodes(request);
  await dashboard.open(nodeLiveUid, { 'var-cluster': plainNode.cluster, 'var-node': plainNode.node, refresh: '' });
  const panel = dashboard.panel('Power', 'stat');
  await panel.waitForData();
  await panel.waitForStream();
  const before = await panel.locator.innerText();
  await expect.poll(() => panel.locator.innerText()).not.toBe(before);
});

test('a refresh leaves no blank and no step back', async ({ dashboard, request }) => {
  const { plainNode } = await pickNodes(request);
  await dashboard.open(nodeLiveUid, { 'var-cluster': plainNode.cluster, 'var-node': plainNode.node, refresh: '' });
  const panel = dashboard.panel('SM active', 'timeseries');
  await panel.waitForData();
  await panel.waitForStream();
  const seen = await record(panel);

  for (let i = 0; i < 3; i++) {
    const answered = dashboard.page.waitForResponse((response) => response.url().includes('/api/ds/query'));
    await dashboard.refresh();
    await answered;
    await panel.waitForNewerRows();
  }

  const summaries = await seen();
  expect(summaries.length).toBeGreaterThan(3);
  expect(Math.min(...summaries.map(({ rows }) => rows)), 'fewest rows shown').toBeGreaterThan(0);
  const steps = summaries.slice(1).map(({ lastTime }, i) => lastTime - summaries[i].lastTime);
  expect(Math.min(...steps), 'a newest row never gives way to an older one').toBeGreaterThanOrEqual(0);
});
