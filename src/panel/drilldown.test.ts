import { dateTime, getDefaultTimeRange, LoadingState, type PanelData } from '@grafana/data';

import { pagesOf } from './drilldown';
import { readFleet } from './fleet/readFleet';
import { matrix } from './test/frames';

const asked = (targets: object[], raw = { from: 'now-6h', to: 'now' }) =>
  ({
    request: { targets, rangeRaw: raw },
    timeRange: getDefaultTimeRange(),
    state: LoadingState.Done,
  }) as unknown as PanelData;

const OURS = { refId: 'A', datasource: { type: 'warpwatch-gpu-datasource', uid: 'w1' } };

function hrefs(cell: number, data: PanelData, change = (frame: ReturnType<typeof matrix>) => frame) {
  return pagesOf(readFleet([change(matrix())]), cell, data).map(({ title, href }) => [title, href]);
}

test('a GPU leads to its page and to its node’s, with the data source and the range', () => {
  const search = '?from=now-6h&to=now&ds=w1';
  expect(hrefs(3, asked([{ refId: 'X', datasource: { type: 'prometheus', uid: 'p' } }, OURS]))).toEqual([
    ['Open GPU', `/a/warpwatch-gpu-app/fleet/nodes/north/n1/gpus/GPU-b${search}`],
    ['Open node', `/a/warpwatch-gpu-app/fleet/nodes/north/n1${search}`],
  ]);
});

test('a MIG instance leads to its own page first', () => {
  const [[title, href]] = hrefs(1, asked([OURS]));
  expect([title, href]).toEqual([
    'Open MIG instance',
    '/a/warpwatch-gpu-app/fleet/nodes/north/n1/gpus/GPU-a/mig/1?from=now-6h&to=now&ds=w1',
  ]);
});

test('a fixed range is kept as moments, and other data sources are not ours', () => {
  const fixed = { from: dateTime(1_000), to: dateTime(2_000) };
  const [[, href]] = hrefs(3, asked([{ refId: 'A' }], fixed as never));
  expect(href).toMatch(/\?from=1000&to=2000$/);
});

test('without a UUID there is the node’s page only, and without a node there is none', () => {
  const without = (at: number) => (frame: ReturnType<typeof matrix>) => {
    frame.fields[at].values.fill('');
    return frame;
  };
  expect(hrefs(3, asked([OURS]), without(3)).map(([title]) => title)).toEqual(['Open node']);
  expect(hrefs(3, asked([OURS]), without(1))).toEqual([]);
});
