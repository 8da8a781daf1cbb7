import { FieldType, toDataFrame } from '@grafana/data';

import { matrix } from '../test/frames';
import { nameOf } from './Fleet';
import { readFleet, sameNames } from './readFleet';
import { readValues } from './readValues';
import { Recent } from './Recent';

test('MIG instances are within their GPU', () => {
  const fleet = readFleet([matrix()]);
  expect(fleet.count).toBe(6);
  expect(Array.from(fleet.parent)).toEqual([-1, 0, 0, -1, -1, -1]);
  expect(nameOf(fleet, 2)).toBe('n1 GPU 0 MIG 2 (4g.40gb)');
});

test('a GPU that only its MIG instances name has the highest of their values', () => {
  const series = toDataFrame({
    fields: [
      { name: 'time', type: FieldType.time, values: [1000, 2000] },
      { name: 'a', type: FieldType.number, labels: { node: 'n', gpu: '0', mig_id: '1' }, values: [0.2, 0.4] },
      { name: 'b', type: FieldType.number, labels: { node: 'n', gpu: '0', mig_id: '2' }, values: [0.6, undefined] },
    ],
  });
  const fleet = readFleet([series]);
  const { values, ofSlices } = readValues([series], fleet);
  expect(Array.from(values)).toEqual([0.6, 0.4, 0.6]);
  expect(ofSlices[0]).toBe(1);
});

test('absent is not zero, and rows of nodes are no GPUs', () => {
  const frame = matrix();
  frame.fields[3].values[5] = '';
  frame.fields[2].values[5] = '';
  const fleet = readFleet([frame]);
  expect(fleet.count).toBe(5);
  const absent = matrix([null, null, null, null, 0, null]);
  expect(Array.from(readValues([absent], readFleet([absent])).values)).toEqual([NaN, NaN, NaN, NaN, 0, NaN]);
});

test('new values name the same cells, other names do not', () => {
  expect(sameNames([matrix()], [matrix([1, 1, 1, 1, 1, 1])])).toBe(true);
  const other = matrix();
  other.fields[1].values[5] = 'n3';
  expect(sameNames([matrix()], [other])).toBe(false);
});

test('recent values follow a cell into another fleet', () => {
  const before = readFleet([matrix()]);
  const recent = new Recent(before);
  for (let i = 0; i < 100; i++) {
    recent.push(i, Float64Array.from([i, 0, 0, 0, 7, NaN]));
  }
  const frame = matrix();
  frame.fields.forEach((field) => field.values.splice(0, 4));
  frame.length = 2;
  const moved = recent.movedTo(readFleet([frame]));
  expect(moved.of(0)).toHaveLength(24);
  expect(moved.of(0)[23]).toEqual({ at: 99, value: 7 });
});
