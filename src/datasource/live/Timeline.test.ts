import { rowsOf, START, wideFrame } from '../test/frames';
import { Timeline } from './Timeline';

const SEED = wideFrame([
  [0, 1, 10],
  [1, 2, 20],
  [2, 3, 30],
]);

function timeline(seed = SEED, rangeMs = 60_000, stepMs = 1000) {
  return new Timeline(seed, rangeMs, stepMs);
}

test('begins as the answer', () => {
  const line = timeline();
  expect(rowsOf(line.toFrame())).toEqual(rowsOf(SEED));
  expect(line.end).toBe(START + 2000);
});

test('appends what is newer and counts it', () => {
  const line = timeline();
  expect(
    line.overlay(
      wideFrame([
        [3, 4, 40],
        [4, 5, 50],
      ])
    )
  ).toBe(2);
  expect(rowsOf(line.toFrame()).slice(-2)).toEqual([
    [3, 4, 40],
    [4, 5, 50],
  ]);
});

test('completes a bin that was open, and takes nothing away', () => {
  const line = timeline();
  expect(line.overlay(wideFrame([[2, 9, null]]))).toBe(0);
  expect(rowsOf(line.toFrame()).at(-1)).toEqual([2, 9, 30]);
});

test('lays the same packet over itself without a change', () => {
  const line = timeline();
  const packet = wideFrame([
    [1, 2, 20],
    [3, 4, 40],
    [2, 3, 30],
  ]);
  line.overlay(packet);
  const once = rowsOf(line.toFrame());
  expect(line.overlay(packet)).toBe(0);
  expect(rowsOf(line.toFrame())).toEqual(once);
  expect(once.map(([second]) => second)).toEqual([0, 1, 2, 3]);
});

test('puts a late row where it belongs', () => {
  const line = timeline(
    wideFrame([
      [0, 1, 10],
      [2, 3, 30],
    ])
  );
  line.overlay(
    wideFrame([
      [3, 4, 40],
      [1, 2, 20],
    ])
  );
  expect(rowsOf(line.toFrame()).map(([second]) => second)).toEqual([0, 1, 2, 3]);
});

test('leaves old rows to the answer: the buffer may be older than it', () => {
  const line = timeline(
    wideFrame([
      [0, 1, 10],
      [30, 2, 20],
    ])
  );
  line.overlay(
    wideFrame([
      [0, 99, 99],
      [15, 99, 99],
      [31, 3, 30],
    ])
  );
  expect(rowsOf(line.toFrame())).toEqual([
    [0, 1, 10],
    [30, 2, 20],
    [31, 3, 30],
  ]);
});

test('finds columns by name and labels, not by position', () => {
  const line = timeline();
  line.overlay(wideFrame([[3, 40, 4]], { gpus: ['1', '0'] }));
  expect(rowsOf(line.toFrame()).at(-1)).toEqual([3, 4, 40]);
});

test('says when the stream has other columns, and keeps those it knows going', () => {
  const line = timeline();
  expect(line.differsFrom(SEED)).toBe(false);
  expect(line.differsFrom(wideFrame([], { gpus: ['1', '0'] }))).toBe(false);
  expect(line.differsFrom(wideFrame([], { gpus: ['0'] }))).toBe(true);
  const more = wideFrame([[3, 4, 40, 400]], { gpus: ['0', '1', '2'] });
  expect(line.differsFrom(more)).toBe(true);
  line.overlay(more);
  expect(rowsOf(line.toFrame()).at(-1)).toEqual([3, 4, 40]);
});

test('drops what lies before the range, all but one row', () => {
  const rows = Array.from({ length: 1000 }, (_, i): [number, number, number] => [i, i, i]);
  const line = timeline(wideFrame(rows.slice(0, 300)), 300_000);
  rows.slice(300).forEach((row) => line.overlay(wideFrame([row])));
  const seconds = rowsOf(line.toFrame()).map(([second]) => second);
  expect([seconds[0], seconds.at(-1), seconds.length]).toEqual([698, 999, 302]);
});

test('hands out frames that later rows do not change', () => {
  const line = timeline();
  const before = line.toFrame();
  line.overlay(
    wideFrame([
      [2, 9, 9],
      [3, 4, 40],
    ])
  );
  expect(rowsOf(before)).toEqual(rowsOf(SEED));
  expect(before.fields[1].config.displayNameFromDS).toBe('GPU 0');
  expect(before.refId).toBe('A');
});

test('ten samples a second, with nodes that are up to two seconds late', () => {
  const line = timeline(
    wideFrame([
      [0, 1, 10],
      [0.1, 1, 10],
    ]),
    60_000,
    100
  );
  line.overlay(wideFrame([[2.1, 5, null]]));
  line.overlay(wideFrame([[0.2, null, 20]]));
  expect(rowsOf(line.toFrame())).toEqual([
    [0, 1, 10],
    [0.1, 1, 10],
    [0.2, null, 20],
    [2.1, 5, null],
  ]);
});

test('refuses a frame without time', () => {
  const [, ...values] = SEED.fields;
  expect(() => timeline({ ...SEED, fields: values })).toThrow('without a time field');
});
