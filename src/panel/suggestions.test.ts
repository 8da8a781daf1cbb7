import { createDataFrame, type DataFrame, FieldType, getPanelDataSummary, type PanelDataSummary } from '@grafana/data';

import { plugin } from './module';
import { suggestions } from './suggestions';
import { matrix } from './test/frames';

const cities = createDataFrame({ fields: [{ name: 'city', type: FieldType.string, values: ['Turin'] }] });

const series = (labels: Record<string, string>) =>
  createDataFrame({ fields: [{ name: 'v', type: FieldType.number, values: [1], labels }] });

/** Asks as Grafana 12.3 does. */
function appended(frames: DataFrame[]) {
  const found: object[] = [];
  const supplier = suggestions as unknown as { getSuggestionsForData: (builder: object) => void };
  supplier.getSuggestionsForData({
    data: { series: frames },
    getListAppender: (defaults: object) => ({ append: (more: object) => found.push({ ...defaults, ...more }) }),
  });
  return found;
}

/** Asks as newer ones do. */
const called = (frames: DataFrame[]) =>
  (suggestions as unknown as (summary: PanelDataSummary) => unknown[] | undefined)(getPanelDataSummary(frames));

test.each([
  ['a table of GPUs', matrix()],
  ['series with a UUID', series({ gpu_uuid: 'GPU-a' })],
  ['series with a node and an index', series({ node: 'n1', gpu: '0' })],
])('%s suggests the panel, to every version of Grafana', (_, frame) => {
  expect(appended([cities, frame])).toEqual([
    expect.objectContaining({ pluginId: 'warpwatch-fleet-panel', name: 'GPU fleet' }),
  ]);
  expect(called([cities, frame])).toHaveLength(1);
});

test.each([
  ['nothing', []],
  ['other tables', [cities]],
  ['series of nodes', [series({ node: 'n1' })]],
])('%s does not', (_, frames) => {
  expect(appended(frames)).toEqual([]);
  expect(called(frames)).toBeUndefined();
});

test('the plugin offers them, and migrates its options', () => {
  expect(plugin.getSuggestions(getPanelDataSummary([matrix()]))).toHaveLength(1);
  expect(plugin.onPanelMigration?.({ options: { palette: 'rainbow' } } as never)).toMatchObject({ palette: 'viridis' });
});
