import { readFleet } from '../fleet/readFleet';
import { matrix } from '../test/frames';
import { cellAt, gpusWithin, nameAt, rectOf } from './find';
import { groupFleet } from './groups';
import { move } from './move';
import { pack } from './pack';
import { placeFleet } from './place';

const space = { width: 1200, height: 600, gap: 6, labelHeight: 20, labelWidth: 72, least: 2, most: 96 };

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

test('what is drawn somewhere is found there', () => {
  const { fleet, places } = placed();
  for (let cell = 0; cell < fleet.count; cell++) {
    const { x, y, width, height } = rectOf(fleet, places, cell);
    expect(cellAt(fleet, places, { x: x + width / 2, y: cell === 0 ? y + 1 : y + height / 2 })).toBe(cell);
  }
  expect(cellAt(fleet, places, { x: -1, y: 0 })).toBe(-1);
  expect(gpusWithin(places, { x: 9999, y: 9999 }, { x: 0, y: 0 }).sort()).toEqual([0, 3, 4, 5]);
});

test('a name is found where it stands, and is not a cell', () => {
  const { fleet, places } = placed();
  places.blocks.forEach(({ left, top, header }, group) => {
    expect(nameAt(places, { x: left + 1, y: top - header / 2 })).toBe(group);
    expect(cellAt(fleet, places, { x: left + 1, y: top - header / 2 })).toBe(-1);
    expect(nameAt(places, { x: left + 1, y: top + 1 })).toBe(-1);
  });
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
