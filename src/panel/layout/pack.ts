import { type Ruler, rulerOf, type Shelf, shelvesOf, type Space, TALLEST } from './shelves';

/** Where a group is. */
export interface Block {
  /** On the grid, in cells. */
  x: number;
  y: number;
  columns: number;
  rows: number;
  /** On the map, in pixels of the screen: the corner of its first cell. */
  left: number;
  top: number;
  /** The height of its name, which is above `top`, 0 for none, and how far it may go to the right. */
  header: number;
  room: number;
}

/** A part of the grid that is drawn in one piece, and where its first cell is on the map. */
export interface Strip {
  x: number;
  y: number;
  columns: number;
  rows: number;
  left: number;
  top: number;
}

/** Blocks of cells, side by side on a grid without room between them, and apart on the map. */
export interface Packing {
  /** The side of a cell, its gap included, in pixels of the screen. */
  pitch: number;
  /** Of the grid, in cells. */
  columns: number;
  rows: number;
  /** Of the map, in pixels of the screen. */
  height: number;
  blocks: Block[];
  strips: Strip[];
}

/** Cells are not made smaller than this for the sake of names. */
const LABELLED_SIDE = 5;

/** Places groups of so many cells with the largest cells that fit; with the least ones, the map is higher than the space. */
export function pack(sizes: readonly number[], space: Space): Packing {
  const bare = { ...space, labelHeight: 0, labelWidth: 0 };
  const labels = space.labelHeight > 0 && sizes.length > 1;
  if (space.pitch !== undefined) {
    const pitch = Math.max(1, Math.min(space.pitch, space.width));
    return layOut(sizes, lowest(sizes, rulerOf(labels ? space : bare, sizes.length, pitch)));
  }
  const without = fit(sizes, bare);
  const named = labels ? fit(sizes, space) : undefined;
  return layOut(sizes, named?.fits && isWorthIt(named.ruler.pitch, without.ruler.pitch) ? named : without);
}

/** Whether cells that names make smaller still say enough. */
function isWorthIt(named: number, without: number): boolean {
  return named === without || (named >= LABELLED_SIDE && 2 * named >= without);
}

interface Arrangement {
  ruler: Ruler;
  shelves: Shelf[];
  fits: boolean;
}

/** From the side that would fill the space to the last pixel downwards. */
function fit(sizes: readonly number[], space: Space): Arrangement {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const names = sizes.length * Math.min(space.width, space.labelWidth) * space.labelHeight;
  const room = Math.max(0, space.width * space.height - names);
  const most = Math.min(space.most, space.width, space.height, Math.floor(Math.sqrt(room / Math.max(1, total))));
  for (let pitch = most; pitch > space.least; pitch--) {
    const found = firstThatFits(sizes, rulerOf(space, sizes.length, pitch));
    if (found) {
      return found;
    }
  }
  const ruler = rulerOf(space, sizes.length, Math.max(1, Math.min(space.least, space.width)));
  return firstThatFits(sizes, ruler) ?? lowest(sizes, ruler);
}

function firstThatFits(sizes: readonly number[], ruler: Ruler): Arrangement | undefined {
  for (const shelves of arrangements(sizes, ruler)) {
    if (heightOf(shelves, ruler) <= ruler.height) {
      return { ruler, shelves, fits: true };
    }
  }
  return undefined;
}

function lowest(sizes: readonly number[], ruler: Ruler): Arrangement {
  let best: Shelf[] = [];
  let least = Infinity;
  for (const shelves of arrangements(sizes, ruler)) {
    const height = heightOf(shelves, ruler);
    if (height < least) {
      [best, least] = [shelves, height];
    }
  }
  return { ruler, shelves: best, fits: least <= ruler.height };
}

/** Ways to set groups on shelves: those with wide groups first, and with shelves of one height before those of several. */
function* arrangements(sizes: readonly number[], ruler: Ruler): Generator<Shelf[]> {
  const talls = TALLEST.filter((tall) => tall === 1 || tall * ruler.pitch <= ruler.height);
  for (const low of [false, true]) {
    for (const tall of talls) {
      yield shelvesOf(sizes, ruler, tall, low);
    }
  }
}

function heightOf(shelves: readonly Shelf[], { pitch, header, gap }: Ruler): number {
  const cells = shelves.reduce((sum, { rows }) => sum + rows * pitch, 0);
  return cells + shelves.length * header + Math.max(0, shelves.length - 1) * gap;
}

function layOut(sizes: readonly number[], { ruler, shelves }: Arrangement): Packing {
  const { pitch, columns, header, gap } = ruler;
  const blocks: Block[] = [];
  const strips: Strip[] = [];
  let [y, top] = [0, 0];
  for (const shelf of shelves) {
    const row = blocksOf(sizes, shelf, ruler, y, top + header);
    blocks.push(...row);
    strips.push(...stripsOf(row, shelf.rows, pitch));
    y += shelf.rows;
    top += header + shelf.rows * pitch + gap;
  }
  return { pitch, columns, rows: y, height: Math.max(0, top - gap), blocks, strips };
}

function blocksOf(sizes: readonly number[], { from, to, tall }: Shelf, ruler: Ruler, y: number, top: number): Block[] {
  const { pitch, width, header, gap } = ruler;
  const blocks: Block[] = [];
  let left = 0;
  for (let i = from; i < to; i++) {
    const columns = ruler.columnsOf(sizes[i], tall);
    const taken = ruler.taken(columns);
    const room = i + 1 < to ? taken : width - left;
    // On the grid, blocks are as far to the left as they are on the map: keys go straight up and down.
    const x = Math.floor(left / pitch);
    blocks.push({ x, y, columns, rows: Math.ceil(sizes[i] / columns), left, top, header, room });
    left += taken + gap;
  }
  return blocks;
}

/** Blocks of a shelf that are as far apart on the grid as on the map are drawn together. */
function stripsOf(blocks: readonly Block[], rows: number, pitch: number): Strip[] {
  const strips: Strip[] = [];
  for (const { x, y, columns, left, top } of blocks) {
    const last = strips[strips.length - 1];
    if (last && left - last.left === (x - last.x) * pitch) {
      last.columns = x + columns - last.x;
    } else {
      strips.push({ x, y, columns, rows, left, top });
    }
  }
  return strips;
}
