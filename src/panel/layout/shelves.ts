/** What a map may take. */
export interface Space {
  /** In pixels of the screen. */
  width: number;
  height: number;
  /** The side of a cell when it is not to fit the space. */
  pitch?: number;
  /** Between groups. */
  gap: number;
  /** The room that a group's name needs, 0 for no names. */
  labelHeight: number;
  labelWidth: number;
  /** Bounds of the side of a cell. */
  least: number;
  most: number;
}

/** What things take with cells of one size, in pixels of the screen. */
export interface Ruler {
  pitch: number;
  width: number;
  height: number;
  gap: number;
  header: number;
  /** How many cells are as wide as the map. */
  columns: number;
  /** How many columns a group of so many cells has on a shelf that is so many rows high. */
  columnsOf: (size: number, tall: number) => number;
  /** How wide a group of so many columns is, its name included. */
  taken: (columns: number) => number;
}

/** Groups from one index up to, and without, another, side by side. */
export interface Shelf {
  from: number;
  to: number;
  /** How many rows its groups aim at, and how many the highest has. */
  tall: number;
  rows: number;
}

/** Heights of shelves that are tried, in rows. */
export const TALLEST = [
  1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512,
];

const LEAST_GAP = 2;

/** With more groups than this each shelf is drawn in one piece: room between groups is whole cells then. */
const PIECES = 1000;

export function rulerOf(space: Space, groups: number, pitch: number): Ruler {
  const { width, height, labelHeight, labelWidth } = space;
  const rounded = (length: number) => (groups > PIECES ? Math.ceil(length / pitch) * pitch : length);
  const columns = Math.max(1, Math.floor(width / pitch));
  const label = Math.min(columns * pitch, rounded(labelWidth));
  const labelled = Math.min(columns, Math.max(1, Math.floor(label / pitch)));
  return {
    pitch,
    width,
    height,
    // Small cells are not to be far apart for their size.
    gap: rounded(Math.min(space.gap, Math.max(LEAST_GAP, Math.ceil(pitch / 2)))),
    header: labelHeight,
    columns,
    columnsOf: (size, tall) =>
      Math.min(columns, whole(size, Math.max(Math.ceil(size / tall), Math.min(size, labelled)))),
    taken: (count) => Math.max(count * pitch, label),
  };
}

/** The most GPUs of a server. */
const SERVER = 16;

/** At least so many columns, of which a server's GPUs fill every row; of larger groups nobody sees it. */
function whole(size: number, columns: number): number {
  let found = columns;
  while (size <= SERVER && size % found !== 0) {
    found++;
  }
  return found;
}

/**
 * Sets groups side by side, in their order, and begins a new shelf where the width ends. A shelf is as low as its width
 * allows when `low`: groups of few cells do not stand tall beside each other then.
 */
export function shelvesOf(sizes: readonly number[], ruler: Ruler, tall: number, low: boolean): Shelf[] {
  const shelves: Shelf[] = [];
  let from = 0;
  while (from < sizes.length) {
    const to = endOf(sizes, ruler, tall, from);
    const lowered = low ? lowestOf(sizes, ruler, tall, from, to) : tall;
    let rows = 1;
    for (let i = from; i < to; i++) {
      rows = Math.max(rows, Math.ceil(sizes[i] / ruler.columnsOf(sizes[i], lowered)));
    }
    shelves.push({ from, to, tall: lowered, rows });
    from = to;
  }
  return shelves;
}

/** The first group that has no room on the shelf; one has always. */
function endOf(sizes: readonly number[], ruler: Ruler, tall: number, from: number): number {
  let used = ruler.taken(ruler.columnsOf(sizes[from], tall));
  let to = from + 1;
  for (; to < sizes.length; to++) {
    used += ruler.gap + ruler.taken(ruler.columnsOf(sizes[to], tall));
    if (used > ruler.width) {
      break;
    }
  }
  return to;
}

function lowestOf(sizes: readonly number[], ruler: Ruler, tall: number, from: number, to: number): number {
  let cells = 0;
  for (let i = from; i < to; i++) {
    cells += sizes[i];
  }
  for (let lowered = Math.max(1, Math.ceil(cells / ruler.columns)); lowered < tall; lowered++) {
    if (endOf(sizes, ruler, lowered, from) >= to) {
      return lowered;
    }
  }
  return tall;
}
