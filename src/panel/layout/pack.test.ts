import { type Block, pack, type Packing } from './pack';

const SPACES: Array<[number, number]> = [
  [300, 200],
  [640, 360],
  [1200, 600],
  [1600, 900],
  [1920, 400],
  [500, 1400],
  [3840, 2160],
];

/** The same numbers in every run. */
function newRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Sizes of groups by what they are like. */
const FLEETS: Record<string, number[]> = {
  'one GPU': [1],
  'a server': [8],
  'six servers': Array<number>(6).fill(8),
  'a hundred and twenty-five servers': Array<number>(125).fill(8),
  'two thousand servers': Array<number>(2000).fill(8),
  'a thousand GPUs': [1000],
  'a hundred thousand GPUs': [100_000],
  'clusters alike': Array<number>(5).fill(20_000),
  workstations: Array<number>(300).fill(1),
  'one giant among dwarfs': [3, 1, 900, 1, 2, 8, 1, 40, 1, 1],
  'a giant first and last': [5000, 1, 1, 1, 8, 16, 4, 5000],
  'powers of two': Array.from({ length: 14 }, (_, i) => 2 ** i),
  ...Object.fromEntries(
    [1, 2, 3, 4, 5, 6].map((seed) => {
      const random = newRandom(seed);
      const sizes = Array.from({ length: 2 + Math.floor(random() * 60) }, () => 1 + Math.floor(random() ** 4 * 2000));
      return [`random ${seed}`, sizes];
    })
  ),
};

const spaceOf = (width: number, height: number, named: boolean, pitch?: number) => ({
  width,
  height,
  pitch,
  gap: 6,
  labelHeight: named ? 20 : 0,
  labelWidth: named ? 72 : 0,
  least: 2,
  most: 160,
});

const totalOf = (sizes: readonly number[]) => sizes.reduce((sum, size) => sum + size, 0);

/** Rectangles that share a pixel. */
function overlapping(rects: Array<{ left: number; top: number; right: number; bottom: number }>): number {
  const sorted = [...rects].sort((a, b) => a.top - b.top || a.left - b.left);
  let found = 0;
  sorted.forEach((rect, i) => {
    for (let j = i + 1; j < sorted.length && sorted[j].top < rect.bottom; j++) {
      found += Number(sorted[j].left < rect.right && rect.left < sorted[j].right);
    }
  });
  return found;
}

const cellsOf =
  ({ pitch }: Packing) =>
  ({ left, top, columns, rows }: Block) => ({
    left,
    top,
    right: left + columns * pitch,
    bottom: top + rows * pitch,
  });

const nameOf = ({ left, top, header, room }: Block) => ({ left, top: top - header, right: left + room, bottom: top });

describe.each(Object.entries(FLEETS))('%s', (_, sizes) => {
  test.each(SPACES)('is whole and nothing is over anything in %d × %d', (width, height) => {
    for (const [named, pitch] of [[true], [false], [true, 24], [false, 3]] as Array<[boolean, number?]>) {
      const packing = pack(sizes, spaceOf(width, height, named, pitch));
      const { blocks, columns } = packing;
      const count = (wrong: (block: Block, i: number) => boolean) => blocks.filter(wrong).length;
      expect(count((block, i) => block.columns * block.rows < sizes[i])).toBe(0);
      expect(count((block, i) => block.columns * (block.rows - 1) >= sizes[i])).toBe(0);
      const names = blocks.filter(({ header }) => header > 0).map(nameOf);
      const all = [...names, ...blocks.map(cellsOf(packing))];
      expect(overlapping(all)).toBe(0);
      const outside = all.filter(
        ({ left, top, right, bottom }) => left < 0 || top < 0 || right > width || bottom > packing.height
      );
      expect(outside).toEqual([]);
      expect(count(({ x, columns: wide }) => x + wide > columns)).toBe(0);
      const onGrid = blocks.map(({ x, y, columns: wide, rows }) => ({
        left: x,
        top: y,
        right: x + wide,
        bottom: y + rows,
      }));
      expect(overlapping(onGrid)).toBe(0);
    }
  });

  test.each(SPACES)('is drawn where it is placed in %d × %d', (width, height) => {
    const { blocks, strips, pitch } = pack(sizes, spaceOf(width, height, true));
    const shelves = new Map(strips.map(({ y }) => [y, strips.filter((each) => each.y === y)]));
    const misplaced = blocks.filter(({ x, y, columns, rows, left, top }) => {
      const strip = shelves.get(y)?.find((each) => x >= each.x && x + columns <= each.x + each.columns);
      return !strip || strip.left + (x - strip.x) * pitch !== left || strip.top !== top || rows > strip.rows;
    });
    expect(misplaced).toEqual([]);
    expect(strips.filter(({ top }) => top < height).length).toBeLessThanOrEqual(1000);
  });

  test.each(SPACES)('fills %d × %d', (width, height) => {
    const packing = pack(sizes, spaceOf(width, height, false));
    const share = (totalOf(sizes) * (packing.pitch + 1) ** 2) / (width * height);
    if (packing.pitch > 2 && packing.pitch < 160) {
      expect(packing.height).toBeLessThanOrEqual(height);
      expect(share).toBeGreaterThan(0.4);
    }
  });
});

test('names are left out where cells would be less than half as large for them', () => {
  const [one] = pack(Array<number>(300).fill(1), spaceOf(640, 360, true)).blocks;
  expect(one.header).toBe(0);
  const [tiny] = pack(Array<number>(5).fill(20_000), spaceOf(1230, 580, true)).blocks;
  expect(tiny.header).toBe(20);
  const [named] = pack(Array<number>(6).fill(8), spaceOf(640, 360, true)).blocks;
  expect(named.header).toBe(20);
});

test('servers alike stand as rows of eight, of four or of two, all full', () => {
  for (const [width, height] of SPACES) {
    const { blocks } = pack(Array<number>(6).fill(8), spaceOf(width, height, true));
    expect(blocks.filter(({ columns, rows }) => columns * rows !== 8)).toEqual([]);
  }
});
