import { readFleet } from '../fleet/readFleet';
import { matrix } from '../test/frames';
import { cellAt, gpusWithin, rectOf } from './find';
import { groupFleet } from './groups';
import { move } from './move';
import { pack } from './pack';
import { placeFleet } from './place';

const space = { width: 1200, height: 600, labelHeight: 20, labelWidth: 72, least: 2, most: 96 };

function placed() {
  const fleet = readFleet([matrix()]);
  const groups = groupFleet(fleet, 'node');
  const places = placeFleet(
    fleet,
    groups,
    pack(
      groups.map(({ gpus }) => gpus.length),
      space
    ),
    true
  );
  return { fleet, places };
}

test.each([1, 8, 1000, 100_000])('%d GPUs fit, none over another', (count) => {
  const { pitch, columns, rows, blocks } = pack([count], space);
  expect(columns * pitch).toBeLessThanOrEqual(space.width);
  expect(rows * pitch).toBeLessThanOrEqual(space.height);
  expect(blocks[0].columns * blocks[0].rows).toBeGreaterThanOrEqual(count);
});

test('blocks do not overlap', () => {
  const { blocks } = pack(Array<number>(500).fill(8), space);
  const seen = new Set<string>();
  for (const { x, y, columns, rows } of blocks) {
    for (let i = 0; i < columns * rows; i++) {
      const key = `${x + (i % columns)} ${y + Math.floor(i / columns)}`;
      expect(seen.has(key)).toBe(false);
      seen.add(key);
    }
  }
});

test('what is drawn somewhere is found there', () => {
  const { fleet, places } = placed();
  for (let cell = 0; cell < fleet.count; cell++) {
    const { x, y, width, height } = rectOf(fleet, places, cell);
    expect(cellAt(fleet, places, { x: x + width / 2, y: cell === 0 ? y + 0.1 : y + height / 2 })).toBe(cell);
  }
  expect(cellAt(fleet, places, { x: -1, y: 0 })).toBe(-1);
  expect(gpusWithin(places, { x: 99, y: 99 }, { x: 0, y: 0 }).sort()).toEqual([0, 3, 4, 5]);
});

test('keys go through GPUs and their MIG instances', () => {
  const { fleet, places } = placed();
  const path = [-1];
  for (let i = 0; i < 7; i++) {
    path.push(move(fleet, places, path[i], 'right'));
  }
  expect(path).toEqual([-1, 0, 1, 2, 3, 4, 5, 5]);
  expect(move(fleet, places, 0, 'nextGroup')).toBe(4);
  expect(move(fleet, places, 2, 'end')).toBe(5);
});
