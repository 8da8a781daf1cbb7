import { type DataFrame, type DataQueryRequest, type DataQueryResponse, dateTime } from '@grafana/data';
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

type Row = Parameters<typeof wideFrame>[0][number];

let live: FakeLive;
let side: LiveSide;
let close: Array<() => void>;

beforeEach(() => {
  jest.useFakeTimers({ now: START });
  live = new FakeLive();
  side = new LiveSide(live);
  close = [];
});

afterEach(() => {
  close.forEach((one) => one());
  expect(live.watchers).toBe(0);
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** Opens a panel; the function returned gives what it shows. */
function open(ask: () => Observable<DataQueryResponse>): () => DataFrame {
  let shown: DataFrame | undefined;
  const subscription = joinLive({ request: REQUEST, ask, live: side, uid: 'gpu', showWarnings: true }).subscribe(
    ({ data }) => {
      shown = data[0];
    }
  );
  close.push(() => subscription.unsubscribe());
  return () => shown!;
}

const now = () => (Date.now() - START) / 1000;

/** An answer of now. */
const answer = (rows: Row[], more = {}) =>
  of<DataQueryResponse>({ data: [wideFrame(rows, { live: { rangeMs: 120_000, atMs: Date.now(), ...more } })] });

/** Rows that tell of samples that came too late, up to a second. */
const late = (rows: Row[], second: number): DataFrame => ({
  ...wideFrame(rows),
  meta: { custom: { refill: START + second * 1000 } },
});

/** Sends a row each second for a while. */
function flow(seconds: number, packet = (second: number) => wideFrame([[second, second, second]])) {
  for (let i = 0; i < seconds; i++) {
    jest.advanceTimersByTime(1000);
    live.push('q/0', packet(Math.round(now())));
  }
  jest.advanceTimersByTime(100);
}

describe('samples that came too late for their rows', () => {
  test('are asked for once, soon, and fill the hole', () => {
    const ask = jest
      .fn()
      .mockImplementationOnce(() => answer([[0, 0, 0]]))
      .mockImplementation(() => answer(Array.from({ length: Math.ceil(now()) }, (_, i): Row => [i, i, i])));
    const shown = open(ask);
    flow(3, (second) => wideFrame([[second, second, null]]));
    flow(30, (second) => late([[second, second, second]], 4));
    expect(ask).toHaveBeenCalledTimes(2);
    expect(rowsOf(shown())).toEqual(Array.from({ length: 34 }, (_, i) => [i, i, i]));
  });

  test('of before the answer are in it', () => {
    const ask = jest.fn(() => answer([[0, 0, 0]]));
    open(ask);
    flow(60, (second) => late([[second, second, second]], -1));
    expect(ask).toHaveBeenCalledTimes(1);
  });

  test('that go on coming are asked for now and then', () => {
    const asked: number[] = [];
    open(() => {
      asked.push(now());
      return answer([[Math.floor(now()), 1, 1]]);
    });
    flow(95, (second) => late([[second, second, second]], second));
    expect(asked.length).toBeGreaterThanOrEqual(3);
    asked.slice(2).forEach((at, i) => expect(at - asked[i + 1]).toBeGreaterThanOrEqual(30));
  });

  test('do not make a thousand panels ask at the same time', () => {
    const perSecond = new Map<number, number>();
    for (let panel = 0; panel < 300; panel++) {
      open(() => {
        perSecond.set(Math.floor(now()), (perSecond.get(Math.floor(now())) ?? 0) + 1);
        return answer([[Math.floor(now()), 1, 1]]);
      });
    }
    flow(8, (second) => late([[second, second, second]], 1));
    const refills = Array.from(perSecond).filter(([second]) => second > 0);
    expect(refills.reduce((sum, [, count]) => sum + count, 0)).toBe(300);
    expect(refills.length).toBeGreaterThanOrEqual(4);
  });
});

test('rows that are missing do not keep a panel without a WebSocket from asking every ten seconds', () => {
  const asked: number[] = [];
  open(() => {
    asked.push(now());
    return answer([[Math.floor(now()), 1, 1]]);
  });
  flow(10, (second) => late([[second, second, second]], second)); // asked for now, and the next time in half a minute
  live.connected.next(false);
  const lost = now();
  jest.advanceTimersByTime(16_000);
  expect(asked.filter((at) => at > lost)).toHaveLength(1);
});

test('what was sent while the WebSocket was away for a moment is asked for', () => {
  const ask = jest
    .fn()
    .mockImplementationOnce(() => answer([[0, 0, 0]]))
    .mockImplementation(() => answer(Array.from({ length: Math.ceil(now()) }, (_, i): Row => [i, i, i])));
  const shown = open(ask);
  flow(5);
  live.connected.next(false);
  jest.advanceTimersByTime(3000);
  live.connected.next(true);
  flow(12);
  expect(ask).toHaveBeenCalledTimes(2);
  expect(rowsOf(shown())).toEqual(Array.from({ length: 21 }, (_, i) => [i, i, i]));
});

test('a table that is sent whole needs no answer for that', () => {
  const ask = jest.fn(() => answer([[0, 0, 0]], { mode: 'replace' }));
  open(ask);
  flow(5);
  live.connected.next(false);
  jest.advanceTimersByTime(3000);
  live.connected.next(true);
  flow(30);
  expect(ask).toHaveBeenCalledTimes(1);
});

/** Numbers from 0 to 1, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

test.each(Array.from({ length: 25 }, (_, seed) => seed))(
  'whatever goes away and comes back, the panel ends with the truth, in order and once: %s',
  (seed) => {
    const random = randomOf(seed * 7919 + 1);
    const valueOf = (second: number, node: number) => second * 10 + node;
    const away = [false, false];
    const held: number[][] = [[], []]; // seconds that only a node's ring has
    const known: Array<Set<number>> = [new Set([0]), new Set([0])];
    let connected = true;
    let refill: number | undefined;
    const rowAt = (second: number): Row => [
      second,
      ...known.map((seconds, node) => (seconds.has(second) ? valueOf(second, node) : null)),
    ];
    const shown = open(() =>
      answer(Array.from({ length: Math.floor(now()) + 1 }, (_, second) => rowAt(second)).slice(-120))
    );
    const step = (calm: boolean) => {
      jest.advanceTimersByTime(1000);
      const second = Math.round(now());
      away.forEach((gone, node) => {
        if (random() < 0.1 || calm) {
          away[node] = !gone && !calm;
        }
        held[node].push(second);
        if (!away[node]) {
          refill = held[node].length > 1 ? Date.now() : refill;
          held[node].forEach((at) => known[node].add(at));
          held[node] = [];
        }
      });
      if (connected ? random() < 0.05 && !calm : random() < 0.4 || calm) {
        connected = !connected;
        live.connected.next(connected);
      }
      if (connected) {
        live.push('q/0', { ...wideFrame([rowAt(second)]), meta: { custom: refill ? { refill } : {} } });
      }
    };
    for (let i = 0; i < 100; i++) {
      step(false);
    }
    for (let i = 0; i < 45; i++) {
      step(true);
    }
    jest.advanceTimersByTime(100);
    const last = Math.round(now());
    const rows = rowsOf(shown());
    const first = rows[0][0];
    expect(last - first).toBeGreaterThanOrEqual(115);
    expect(rows).toEqual(
      Array.from({ length: last - first + 1 }, (_, i) => [first + i, valueOf(first + i, 0), valueOf(first + i, 1)])
    );
  }
);
