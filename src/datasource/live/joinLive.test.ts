import {
  createDataFrame,
  type DataFrame,
  type DataQueryRequest,
  type DataQueryResponse,
  dateTime,
  FieldType,
  LoadingState,
} from '@grafana/data';
import { NEVER, type Observable, of, Subject, throwError } from 'rxjs';

import { rowsOf, START, wideFrame } from '../test/frames';
import { FakeLive } from '../test/liveSrv';
import { joinLive, type JoinOptions } from './joinLive';
import { LiveSide } from './LiveSide';

jest.mock('@grafana/runtime', () => ({ StreamingFrameAction: { Append: 'append', Replace: 'replace' } }));

const HISTORY = wideFrame(
  [
    [0, 1, 10],
    [1, 2, 20],
    [2, 3, 30],
  ],
  { live: {} }
);
const STATIC = wideFrame([[0, 7, 70]], { gpus: ['6', '7'] });

const REQUEST = {
  requestId: 'Q1',
  targets: [{ refId: 'A' }],
  range: {
    from: dateTime(START - 10_000),
    to: dateTime(START),
    raw: { from: 'now-10s', to: 'now' },
  },
  timezone: 'utc',
} as unknown as DataQueryRequest;

let live: FakeLive;
let side: LiveSide;
let seen: DataQueryResponse[];
let stop: () => void;

beforeEach(() => {
  jest.useFakeTimers({ now: START });
  live = new FakeLive();
  side = new LiveSide(live);
  seen = [];
  stop = () => undefined;
});

afterEach(() => {
  stop();
  expect(live.watchers).toBe(0);
  jest.useRealTimers();
});

function run(ask: JoinOptions<DataQueryRequest>['ask'], options: Partial<JoinOptions<DataQueryRequest>> = {}) {
  const subscription = joinLive({
    request: REQUEST,
    ask,
    live: side,
    uid: 'gpu',
    showWarnings: true,
    ...options,
  }).subscribe((response) => seen.push(response));
  stop = () => subscription.unsubscribe();
  return subscription;
}

const answer = (...data: DataFrame[]): Observable<DataQueryResponse> => of({ data });
const last = () => seen[seen.length - 1];
const notices = (response = last()) =>
  response.data.flatMap((frame: DataFrame) => frame.meta?.notices?.map(({ text }) => text) ?? []);

describe('an answer', () => {
  test('without a stream is passed on as it is, and ends', () => {
    const response = { data: [STATIC], errors: [{ message: 'half of it' }] };
    const subscription = run(() => of(response));
    expect(seen).toEqual([response]);
    expect(subscription.closed).toBe(true);
    expect(live.subscriptions).toHaveLength(0);
  });

  test('is shown whole before the stream brings anything', () => {
    run(() => answer(STATIC, HISTORY));
    expect(seen).toHaveLength(1);
    expect(seen[0].state).toBe(LoadingState.Streaming);
    expect(seen[0].data.map(rowsOf)).toEqual([rowsOf(STATIC), rowsOf(HISTORY)]);
  });

  test('goes on by the stream, static frames and errors beside it', () => {
    run(() => of({ data: [STATIC, HISTORY], errors: [{ refId: 'B', message: 'no such metric' }] }));
    live.push('q/0', wideFrame([[3, 4, 40]]));
    jest.advanceTimersByTime(100);
    expect(last().data.map(rowsOf)).toEqual([rowsOf(STATIC), [...rowsOf(HISTORY), [3, 4, 40]]]);
    expect(last().errors).toEqual([{ refId: 'B', message: 'no such metric' }]);
    expect(last().state).toBe(LoadingState.Streaming);
  });

  test('keeps its names, refId and notices, whoever else watches the channel', () => {
    const frame = { ...HISTORY, meta: { ...HISTORY.meta, notices: [{ severity: 'info' as const, text: 'partial' }] } };
    live
      .getDataStream({ addr: { path: 'q/0' } as never, frame: undefined })
      .subscribe()
      .unsubscribe();
    live.push('q/0', wideFrame([[0, 1, 10]], { refId: 'elsewhere' }));
    run(() => answer(frame));
    live.push('q/0', wideFrame([[3, 4, 40]], { refId: 'elsewhere' }));
    jest.advanceTimersByTime(100);
    expect(last().data[0]).toMatchObject({ refId: 'A', name: 'gpu_power_watts' });
    expect(notices()).toEqual(['partial']);
    expect(rowsOf(last().data[0])).toEqual([...rowsOf(HISTORY), [3, 4, 40]]);
  });
});

describe('the subscription', () => {
  test('carries the query along, has room for the range, and cuts no history that is longer', () => {
    const rows = Array.from({ length: 3000 }, (_, i): [number, number, number] => [i * 7, i, i]);
    const data = { query: { metric: 'gpu_power_watts' }, stepMs: 7000 };
    run(() => answer(wideFrame(rows, { live: { path: 'q/abc', data, stepMs: 7000, rangeMs: 21_000_000 } })));
    const [{ addr, buffer, frame }] = live.subscriptions;
    expect(frame).toBeUndefined();
    expect(addr).toMatchObject({ scope: 'ds', path: 'q/abc', data });
    expect(Object.values(addr)).toContain('gpu');
    expect(buffer).toMatchObject({ maxDelta: 21_000_000, action: 'append' });
    expect(buffer?.maxLength).toBeGreaterThanOrEqual(3000);
    live.push('q/abc', wideFrame([[21_000, 1, 1]]));
    jest.advanceTimersByTime(100);
    expect(last().data[0].length).toBe(3001);
  });

  test('is one for each frame, and packets that come together are shown together', () => {
    const second = wideFrame([[0, 5, 50]], { refId: 'B', live: { path: 'q/1' } });
    run(() => answer(HISTORY, second));
    live.push('q/0', wideFrame([[3, 4, 40]]));
    live.push('q/1', wideFrame([[3, 6, 60]], { refId: 'B' }));
    jest.advanceTimersByTime(100);
    expect(seen).toHaveLength(2);
    expect(last().data.map((frame: DataFrame) => rowsOf(frame).at(-1))).toEqual([
      [3, 4, 40],
      [3, 6, 60],
    ]);
  });

  test('ends with the panel', () => {
    run(() => answer(HISTORY));
    expect(live.watchers).toBe(1);
    stop();
    expect(live.watchers).toBe(0);
    jest.advanceTimersByTime(60_000);
    expect(seen).toHaveLength(1);
  });
});

test('a refresh shows the answer at once, joined to a buffer that went on meanwhile', () => {
  run(() => answer(HISTORY));
  live.push('q/0', wideFrame([[3, 4, 40]]));
  jest.advanceTimersByTime(100);
  stop();
  seen = [];
  run(() =>
    answer(
      wideFrame(
        [
          [1, 2, 20],
          [2, 3, 30],
          [3, 4, null],
        ],
        { live: {} }
      )
    )
  );
  expect(rowsOf(seen[0].data[0])).toHaveLength(3);
  live.push('q/0', wideFrame([[4, 5, 50]]));
  jest.advanceTimersByTime(100);
  expect(rowsOf(last().data[0])).toEqual([
    [1, 2, 20],
    [2, 3, 30],
    [3, 4, 40],
    [4, 5, 50],
  ]);
});

describe('without a WebSocket', () => {
  test('the answer stays, says why, and is asked for again', () => {
    live.connected.next(false);
    const ranges: number[] = [];
    run((request) => {
      ranges.push(request.range.to.valueOf());
      return answer(wideFrame([[ranges.length * 5, 1, 1]], { live: {} }));
    });
    jest.advanceTimersByTime(4900);
    expect(notices()).toEqual([]);
    jest.advanceTimersByTime(200);
    expect(notices().join()).toMatch(/no WebSocket to Grafana.*proxy.*allowed_origins.*every 10 s/);
    expect(rowsOf(last().data[0])).toEqual([[5, 1, 1]]);
    jest.advanceTimersByTime(10_100);
    expect(ranges).toHaveLength(2);
    expect(ranges[1] - ranges[0]).toBeGreaterThanOrEqual(15_000);
    expect(rowsOf(last().data[0])).toEqual([[10, 1, 1]]);
    expect(seen.every(({ data }) => data.length > 0)).toBe(true);
  });

  test('the reason does not flicker between questions, and goes when the connection is back', () => {
    live.connected.next(false);
    run(() => answer(HISTORY));
    jest.advanceTimersByTime(5100);
    const from = seen.length;
    jest.advanceTimersByTime(30_000);
    expect(seen.slice(from).every((response) => notices(response).length === 1)).toBe(true);
    live.connected.next(true);
    jest.advanceTimersByTime(100);
    expect(notices()).toEqual([]);
  });

  test('a panel that refreshes more often than the grace says so, too', () => {
    live.connected.next(false);
    for (let refresh = 0; refresh < 3; refresh++) {
      stop();
      run(() => answer(HISTORY));
      jest.advanceTimersByTime(3000);
    }
    expect(notices()).toHaveLength(1);
  });

  test('a short loss is not worth a word', () => {
    run(() => answer(HISTORY));
    live.connected.next(false);
    jest.advanceTimersByTime(3000);
    live.connected.next(true);
    jest.advanceTimersByTime(5000);
    expect(notices()).toEqual([]);
  });

  test('nothing is said where the data source’s settings want errors only', () => {
    live.connected.next(false);
    run(() => answer(HISTORY), { showWarnings: false });
    jest.advanceTimersByTime(6000);
    expect(notices()).toEqual([]);
  });
});

describe('a channel', () => {
  test('that is refused leaves the answer with the reason, until rows come', () => {
    run(() => answer(HISTORY));
    live.fail('q/0', 'permission denied');
    jest.advanceTimersByTime(100);
    expect(notices().join()).toMatch(/Live updates stopped: permission denied\. Meanwhile/);
    expect(rowsOf(last().data[0])).toEqual(rowsOf(HISTORY));
    live.push('q/0', wideFrame([[3, 4, 40]]));
    jest.advanceTimersByTime(100);
    expect(notices()).toEqual([]);
    expect(rowsOf(last().data[0])).toHaveLength(4);
  });

  test('that ends, throws or breaks is in trouble, never the panel', () => {
    run(() => answer(HISTORY));
    live.end('q/0');
    jest.advanceTimersByTime(100);
    expect(notices().join()).toMatch(/the stream ended/);
    stop();

    live.getDataStream = () => throwError(() => new Error('broken pipe'));
    run(() => answer(HISTORY));
    jest.advanceTimersByTime(100);
    expect(notices().join()).toMatch(/broken pipe/);
    stop();

    live.getDataStream = () => {
      throw new Error('not in this Grafana');
    };
    run(() => answer(HISTORY));
    jest.advanceTimersByTime(100);
    expect(notices().join()).toMatch(/not in this Grafana/);
    expect(rowsOf(last().data[0])).toEqual(rowsOf(HISTORY));
  });

  test('tells of its agents’ troubles beside what the answer told, and of their end', () => {
    const told = (...texts: string[]) => ({ notices: texts.map((text) => ({ severity: 'warning' as const, text })) });
    run(() => answer({ ...HISTORY, meta: { ...HISTORY.meta, ...told('partial') } }));
    live.push('q/0', { ...wideFrame([]), meta: told('node-1 is interrupted', 'partial') });
    jest.advanceTimersByTime(100);
    expect(notices()).toEqual(['partial', 'node-1 is interrupted']);
    live.push('q/0', { ...wideFrame([[3, 4, 40]]), meta: told() });
    jest.advanceTimersByTime(100);
    expect(notices()).toEqual(['partial']);
  });

  test('that brings nothing says so after a while, and the question is put again', () => {
    const ask = jest.fn(() => answer(HISTORY));
    run(ask);
    jest.advanceTimersByTime(15_100);
    expect(notices().join()).toMatch(/No live sample for 15 s/);
    jest.advanceTimersByTime(10_000);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test('with rows is never asked for again', () => {
    const ask = jest.fn(() => answer(HISTORY));
    run(ask);
    for (let second = 3; second < 60; second++) {
      live.push('q/0', wideFrame([[second, second, second]]));
      jest.advanceTimersByTime(1000);
    }
    expect(ask).toHaveBeenCalledTimes(1);
    expect(rowsOf(last().data[0]).map(([second]) => second)).toEqual([48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59]);
  });

  test('with a new GPU leads to a new answer that has it', () => {
    const gpus = ['0', '1', '2'];
    const ask = jest
      .fn()
      .mockReturnValueOnce(answer(HISTORY))
      .mockReturnValue(answer(wideFrame([[3, 4, 40, 400]], { gpus, live: { path: 'q/1' } })));
    run(ask);
    live.push('q/0', wideFrame([[3, 4, 40, 400]], { gpus }));
    jest.advanceTimersByTime(100);
    expect(rowsOf(last().data[0]).at(-1)).toEqual([3, 4, 40]);
    jest.advanceTimersByTime(10_000);
    expect(ask).toHaveBeenCalledTimes(2);
    expect(rowsOf(last().data[0])).toEqual([[3, 4, 40, 400]]);
    expect(live.watchers).toBe(1);
  });
});

describe('a later answer', () => {
  test('that fails leaves the earlier one, and the next is tried', () => {
    const failed = of({ data: [], errors: [{ message: 'north-a: timed out' }] });
    const ask = jest
      .fn()
      .mockReturnValueOnce(answer(HISTORY))
      .mockReturnValueOnce(failed)
      .mockReturnValue(answer(STATIC));
    run(ask);
    live.end('q/0');
    jest.advanceTimersByTime(10_100);
    expect(notices().at(-1)).toMatch(/an earlier answer.*north-a: timed out/);
    expect(rowsOf(last().data[0])).toEqual(rowsOf(HISTORY));
    jest.advanceTimersByTime(10_100);
    expect(last().data.map(rowsOf)).toEqual([rowsOf(STATIC)]);
  });

  test('without a live side is shown, and the live side is looked for again', () => {
    const ask = jest
      .fn()
      .mockReturnValueOnce(answer(HISTORY))
      .mockReturnValueOnce(answer(STATIC))
      .mockReturnValue(answer(HISTORY));
    run(ask);
    live.end('q/0');
    jest.advanceTimersByTime(10_100);
    expect(last().data.map(rowsOf)).toEqual([rowsOf(STATIC)]);
    jest.advanceTimersByTime(10_100);
    expect(last().data.map(rowsOf)).toEqual([rowsOf(HISTORY)]);
  });
});

test('without Grafana Live the answer stands with a notice, and ends', () => {
  const subscription = run(() => answer(HISTORY), { live: undefined });
  expect(notices().join()).toMatch(/max_connections = 0/);
  expect(subscription.closed).toBe(true);
});

test('an answer that comes after the panel has gone starts nothing', () => {
  const answers = new Subject<DataQueryResponse>();
  run(() => answers);
  stop();
  answers.next({ data: [HISTORY] });
  expect(live.subscriptions).toHaveLength(0);
});

test('what looks like a continuation but is none stays static', () => {
  const odd = createDataFrame({
    meta: { custom: { live: { path: 'q/0', stepMs: 0, rangeMs: 'long' } } },
    fields: [{ name: 'time', type: FieldType.time, values: [START] }],
  });
  const subscription = run(() => answer(odd));
  expect(subscription.closed).toBe(true);
  expect(run(() => NEVER).closed).toBe(false);
});
