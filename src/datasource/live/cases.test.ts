import {
  createDataFrame,
  type DataFrame,
  type DataQueryRequest,
  type DataQueryResponse,
  dateTime,
  FieldType,
} from '@grafana/data';
import { type Observable, of } from 'rxjs';

import { rowsOf, START, wideFrame } from '../test/frames';
import { FakeLive } from '../test/liveSrv';
import { joinLive } from './joinLive';
import { LiveSide } from './LiveSide';

jest.mock('@grafana/runtime', () => ({ StreamingFrameAction: { Append: 'append', Replace: 'replace' } }));

const REQUEST = {
  requestId: 'Q1',
  targets: [{ refId: 'A' }],
  range: { from: dateTime(START - 10_000), to: dateTime(START), raw: { from: 'now-10s', to: 'now' } },
  timezone: 'utc',
} as unknown as DataQueryRequest;

let live: FakeLive;
let side: LiveSide;
let panels: Array<() => void>;

beforeEach(() => {
  jest.useFakeTimers({ now: START });
  live = new FakeLive();
  side = new LiveSide(live);
  panels = [];
});

afterEach(() => {
  panels.forEach((close) => close());
  expect(live.watchers).toBe(0);
  jest.useRealTimers();
});

/** Opens a panel and returns what it has shown so far. */
function open(ask: () => Observable<DataQueryResponse>): { seen: DataQueryResponse[]; close: () => void } {
  const seen: DataQueryResponse[] = [];
  const subscription = joinLive({
    request: REQUEST,
    ask,
    live: side,
    uid: 'gpu',
    showWarnings: true,
  }).subscribe((response) => seen.push(response));
  const close = () => subscription.unsubscribe();
  panels.push(close);
  return { seen, close };
}

const answer = (...data: DataFrame[]) => of<DataQueryResponse>({ data });
const shown = (seen: DataQueryResponse[]): DataFrame => seen[seen.length - 1].data[0];
const notices = (seen: DataQueryResponse[]) => shown(seen).meta?.notices?.map(({ text }) => text) ?? [];

const HISTORY = wideFrame(
  [
    [0, 1, 10],
    [1, 2, 20],
  ],
  { live: {} }
);

test('C03: two panels of one channel both draw', () => {
  const first = open(() => answer(HISTORY));
  const second = open(() => answer(HISTORY));
  live.push('q/0', wideFrame([[2, 3, 30]]));
  jest.advanceTimersByTime(100);
  for (const { seen } of [first, second]) {
    expect(rowsOf(shown(seen)).at(-1)).toEqual([2, 3, 30]);
    expect(notices(seen)).toEqual([]);
  }
  first.close();
  live.push('q/0', wideFrame([[3, 4, 40]]));
  jest.advanceTimersByTime(100);
  expect(rowsOf(shown(second.seen)).at(-1)).toEqual([3, 4, 40]);
});

test('C08: columns that come and go and change places leave every line on its own values', () => {
  const { seen } = open(() => answer(HISTORY));
  const packets: DataFrame[] = [
    wideFrame([[2, 3, 30]]),
    wideFrame([[3, 4, 40, 400]], { gpus: ['0', '1', '2'] }),
    wideFrame([[4, 50, 5]], { gpus: ['1', '0'] }),
    wideFrame([[5, 6, 60]]),
  ];
  packets.forEach((packet) => {
    live.push('q/0', { ...packet, meta: { notices: [{ severity: 'info', text: 'columns' }] } });
    jest.advanceTimersByTime(100);
  });
  const rows = rowsOf(shown(seen));
  expect(rows.map(([second]) => second)).toEqual([0, 1, 2, 3, 4, 5]);
  rows.forEach(([, first, second]) => {
    expect(first === null || (first as number) < 10).toBe(true);
    expect(second === null || (second as number) >= 10).toBe(true);
  });
});

test('C10: a history of more points than the panel is wide is not cut when the stream begins', () => {
  const rows = Array.from({ length: 3000 }, (_, i): [number, number, number] => [i * 7, i, i]);
  const { seen } = open(() => answer(wideFrame(rows, { live: { stepMs: 1000, rangeMs: 6 * 3_600_000 } })));
  live.push('q/0', wideFrame([[21_000, 1, 1]]));
  jest.advanceTimersByTime(100);
  expect(shown(seen).length).toBe(3001);
});

test('C11: a refresh every 5 s for 2 min never shows a blank panel', () => {
  const all: DataQueryResponse[] = [];
  let at = 1;
  for (let refresh = 0; refresh < 24; refresh++) {
    const panel = open(() =>
      answer(
        wideFrame(
          [
            [at - 1, 1, 1],
            [at, 2, 2],
          ],
          { live: {} }
        )
      )
    );
    for (let second = 0; second < 5; second++) {
      at++;
      live.push('q/0', wideFrame([[at, at, at]]));
      jest.advanceTimersByTime(1000);
    }
    panel.close();
    all.push(...panel.seen);
  }
  expect(all.every(({ data }) => data[0]?.length >= 2)).toBe(true);
  expect(all.flatMap(({ data }) => data[0].meta?.notices ?? [])).toEqual([]);
});

test('C12: who comes back finds the hole filled by the answer, and then the stream', () => {
  const first = open(() => answer(HISTORY));
  live.push('q/0', wideFrame([[2, 3, 30]]));
  jest.advanceTimersByTime(100);
  first.close();
  jest.advanceTimersByTime(120_000);
  const filled = Array.from({ length: 9 }, (_, i): [number, number, number] => [i * 15, i, i]);
  const { seen } = open(() => answer(wideFrame(filled, { live: { rangeMs: 300_000 } })));
  live.push('q/0', wideFrame([[121, 7, 70]]));
  jest.advanceTimersByTime(100);
  expect(rowsOf(shown(seen)).map(([second]) => second)).toEqual([0, 15, 30, 45, 60, 75, 90, 105, 120, 121]);
});

test('C14: of 600 samples at 10 Hz, four a packet, each is shown', () => {
  const { seen } = open(() => answer(wideFrame([[0, 0, 0]], { live: { stepMs: 100, rangeMs: 120_000 } })));
  for (let n = 1; n <= 600; n += 4) {
    live.push('q/0', wideFrame([n, n + 1, n + 2, n + 3].map((i) => [i / 10, i, i])));
    jest.advanceTimersByTime(400);
  }
  expect(rowsOf(shown(seen)).map(([, value]) => value)).toEqual(Array.from({ length: 601 }, (_, i) => i));
});

test('C15: lines keep the names that labels gave them while the stream goes on', () => {
  const { seen } = open(() => answer(HISTORY));
  live.push('q/0', wideFrame([[2, 3, 30]]));
  jest.advanceTimersByTime(100);
  const names = seen.map(({ data }) =>
    data[0].fields.map(({ config, name }: DataFrame['fields'][0]) => config.displayNameFromDS ?? name)
  );
  expect(new Set(names.map(String)).size).toBe(1);
  expect(new Set(names[0]).size).toBe(3);
});

test('C16: a new viewer sees the last value at once, though nothing changes', () => {
  const { seen } = open(() => answer(HISTORY));
  expect(rowsOf(shown(seen)).at(-1)).toEqual([1, 2, 20]);
});

describe('C18: a subscription that nobody answers', () => {
  test('is told within 5 s, and the panel asks on its own', () => {
    live.answers = false;
    const ask = jest.fn(() => answer(HISTORY));
    const { seen } = open(ask);
    jest.advanceTimersByTime(5100);
    expect(notices(seen).join()).toMatch(
      /has not answered the subscription within 5 s.*\[live\] allowed_origins, max_connections/
    );
    expect(rowsOf(shown(seen))).toEqual(rowsOf(HISTORY));
    jest.advanceTimersByTime(10_000);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test('is forgotten when rows come after all', () => {
    live.answers = false;
    const { seen } = open(() => answer(HISTORY));
    jest.advanceTimersByTime(5100);
    live.push('q/0', wideFrame([[2, 3, 30]]));
    jest.advanceTimersByTime(100);
    expect(notices(seen)).toEqual([]);
  });

  test('is addressed as every Grafana understands it', () => {
    open(() => answer(HISTORY));
    expect(live.subscriptions[0].addr).toMatchObject({ scope: 'ds', namespace: 'gpu', stream: 'gpu', path: 'q/0' });
  });
});

test('C19: without a WebSocket the history stays, and the reason names what to look at', () => {
  live.connected.next(false);
  const { seen } = open(() => answer(HISTORY));
  jest.advanceTimersByTime(5100);
  expect(notices(seen).join()).toMatch(/no WebSocket.*proxy.*allowed_origins.*max_connections/);
  expect(rowsOf(shown(seen))).toEqual(rowsOf(HISTORY));
});

test('C24: rows that two Grafana servers send are shown once', () => {
  const { seen } = open(() => answer(HISTORY));
  for (const row of [2, 3, 4]) {
    live.push('q/0', wideFrame([[row, row, row]]));
    live.push(
      'q/0',
      wideFrame([
        [row - 1, row - 1, row - 1],
        [row, row, row],
      ])
    );
    jest.advanceTimersByTime(500);
  }
  expect(rowsOf(shown(seen)).map(([second]) => second)).toEqual([0, 1, 2, 3, 4]);
});

test('a data source that is full is told of, until there is a place', () => {
  const { seen } = open(() => answer(HISTORY));
  const columns = wideFrame([]);
  live.push('q/0', {
    ...columns,
    meta: { custom: { refused: 'ada has 256 live streams already' }, notices: [] },
  });
  jest.advanceTimersByTime(100);
  expect(notices(seen)).toEqual([
    'Live updates wait: ada has 256 live streams already. Meanwhile the panel asks again every 10 s.',
  ]);
  live.push('q/0', { ...wideFrame([[2, 3, 30]]), meta: { custom: {}, notices: [] } });
  jest.advanceTimersByTime(100);
  expect(notices(seen)).toEqual([]);
});

describe('tables', () => {
  const table = (rows: Array<[string, number]>, meta: DataFrame['meta']): DataFrame =>
    createDataFrame({
      refId: 'A',
      meta,
      fields: [
        { name: 'gpu', type: FieldType.string, values: rows.map(([gpu]) => gpu) },
        { name: 'watts', type: FieldType.number, values: rows.map(([, watts]) => watts) },
      ],
    });
  const custom = (mode: string, more = {}) => ({
    custom: { live: { path: 'q/0', data: {}, stepMs: 1000, rangeMs: 60_000, mode }, ...more },
  });
  const cellsOf = (frame: DataFrame) =>
    Array.from({ length: frame.length }, (_, i) => frame.fields.map(({ values }) => values[i]));

  test('that are replaced show the newest, also when nothing is left', () => {
    const { seen } = open(() =>
      answer(
        table(
          [
            ['a', 1],
            ['b', 2],
          ],
          custom('replace')
        )
      )
    );
    live.push('q/0', table([['b', 3]], {}));
    jest.advanceTimersByTime(100);
    expect(cellsOf(shown(seen))).toEqual([['b', 3]]);
    live.push('q/0', table([], { custom: { rows: 0 }, notices: [] }));
    jest.advanceTimersByTime(100);
    expect(shown(seen).length).toBe(0);
    expect(shown(seen).fields).toHaveLength(2);
    expect(live.subscriptions[0]).toMatchObject({ buffer: { action: 'replace' } });
  });

  test('that are replaced show one packet whole, whatever their times, however many came and who else watches', () => {
    const inventory = (count: number, meta: DataFrame['meta']) =>
      createDataFrame({
        refId: 'A',
        meta,
        fields: [
          { name: 'gpu', type: FieldType.string, values: Array.from({ length: count }, (_, i) => `${i}`) },
          {
            name: 'xid_time',
            type: FieldType.time,
            values: Array.from({ length: count }, (_, i) => (i % 3 === 1 ? START - i * 3_600_000 : null)),
          },
        ],
      });
    const { seen } = open(() => answer(inventory(2, custom('replace'))));
    for (let packet = 0; packet < 20; packet++) {
      live.push('q/0', inventory(149, {}));
      jest.advanceTimersByTime(1000);
      expect(cellsOf(shown(seen))).toEqual(cellsOf(inventory(149, {})));
    }
    const second = open(() => answer(inventory(149, custom('replace'))));
    live.push('q/0', inventory(1000, {}));
    jest.advanceTimersByTime(100);
    for (const panel of [seen, second.seen]) {
      expect(cellsOf(shown(panel))).toEqual(cellsOf(inventory(1000, {})));
    }
  });

  test('that grow show each row once', () => {
    const event = (rows: Array<[number, string]>, meta: DataFrame['meta']) =>
      createDataFrame({
        refId: 'A',
        meta,
        fields: [
          { name: 'time', type: FieldType.time, values: rows.map(([second]) => START + second * 1000) },
          { name: 'text', type: FieldType.string, values: rows.map(([, text]) => text) },
        ],
      });
    const { seen } = open(() => answer(event([[0, 'XID 79']], custom('append'))));
    live.push('q/0', event([[5, 'throttled']], {}));
    live.push(
      'q/0',
      event(
        [
          [5, 'throttled'],
          [5, 'lost'],
        ],
        {}
      )
    );
    jest.advanceTimersByTime(100);
    expect(cellsOf(shown(seen)).map(([, text]) => text)).toEqual(['XID 79', 'throttled', 'lost']);
    live.push('q/0', event([[70, 'returned']], {}));
    jest.advanceTimersByTime(100);
    live.push('q/0', event([[71, 'again']], {}));
    jest.advanceTimersByTime(100);
    expect(cellsOf(shown(seen)).map(([, text]) => text)).toEqual(['returned', 'again']);
  });

  test('that grow repeat nothing for a heartbeat or a new subscription, and are not silent while heartbeats come', () => {
    const events = (rows: number[], meta: DataFrame['meta'] = {}) =>
      createDataFrame({
        refId: 'A',
        meta,
        fields: [
          { name: 'time', type: FieldType.time, values: rows.map((second) => START + second * 1000) },
          { name: 'text', type: FieldType.string, values: rows.map((second) => `event ${second}`) },
        ],
      });
    const first = open(() => answer(events([0], custom('append'))));
    live.push('q/0', events([1]));
    live.push('q/0', events([1]));
    jest.advanceTimersByTime(100);
    first.close();
    const { seen } = open(() => answer(events([0, 1], custom('append'))));
    for (let second = 5; second <= 45; second += 5) {
      live.push('q/0', second === 20 ? events([0, 1]) : events([], { custom: { rows: 0 }, notices: [] }));
      jest.advanceTimersByTime(5000);
      expect(cellsOf(shown(seen)).map(([, text]) => text)).toEqual(['event 0', 'event 1']);
      expect(notices(seen)).toEqual([]);
    }
    jest.advanceTimersByTime(15_000);
    expect(notices(seen)[0]).toMatch(/^No live sample for 15 s/);
    live.push('q/0', events([]));
    jest.advanceTimersByTime(100);
    expect(notices(seen)).toEqual([]);
  });

  test('of a fleet get their values as cells, and are asked for again when they are laid out anew', () => {
    const cells = (second: number, layout: string, text: string) =>
      createDataFrame({
        fields: [
          { name: 'time', type: FieldType.time, values: [START + second * 1000] },
          { name: 'layout', type: FieldType.string, values: [layout] },
          { name: 'min', type: FieldType.number, values: [0] },
          { name: 'max', type: FieldType.number, values: [254] },
          { name: 'cells', type: FieldType.string, values: [text] },
        ],
      });
    const seed = table(
      [
        ['a', 1],
        ['b', 2],
        ['old', 9],
      ],
      custom('cells', { matrix: { layout: 'one', cells: 2 } })
    );
    const ask = jest.fn(() => answer(seed));
    const { seen } = open(ask);
    live.push('q/0', cells(1, 'one', btoa(String.fromCharCode(0, 101))));
    jest.advanceTimersByTime(100);
    expect(cellsOf(shown(seen))).toEqual([
      ['a', null],
      ['b', 100],
      ['old', 9],
    ]);
    live.push('q/0', cells(2, 'two', btoa(String.fromCharCode(1, 2, 3))));
    jest.advanceTimersByTime(100);
    expect(cellsOf(shown(seen))[1]).toEqual(['b', 100]);
    jest.advanceTimersByTime(10_000);
    expect(ask).toHaveBeenCalledTimes(2);
  });
});
