/** Where a group is, in cells from the left and the top of the map. Its name takes the first `header` rows. */
export interface Block {
  x: number;
  y: number;
  columns: number;
  rows: number;
  header: number;
}

/** Blocks on one grid of cells. */
export interface Packing {
  /** The side of a cell, gap included, in pixels of the screen. */
  pitch: number;
  columns: number;
  rows: number;
  blocks: Block[];
}

export interface Space {
  /** In pixels of the screen. */
  width: number;
  height: number;
  /** The side of a cell when it is not to fit the space. */
  pitch?: number;
  /** The room that a group's name needs, 0 for no names. */
  labelHeight: number;
  labelWidth: number;
  /** Bounds of the side of a cell. */
  least: number;
  most: number;
}

/** Below this side names would take more room than what they name. */
const LABELLED_SIDE = 5;

/** Places groups of so many cells with the largest cells that fit; with the least ones, the map is higher than the space. */
export function pack(sizes: readonly number[], space: Space): Packing {
  if (space.pitch !== undefined) {
    return shelve(sizes, space, Math.max(1, Math.min(space.pitch, space.width)));
  }
  const labelled = fit(sizes, space);
  if (space.labelHeight === 0 || sizes.length < 2 || labelled.pitch >= LABELLED_SIDE) {
    return labelled;
  }
  const bare = fit(sizes, { ...space, labelHeight: 0, labelWidth: 0 });
  const fits = labelled.rows * labelled.pitch <= space.height;
  return fits && bare.pitch === labelled.pitch ? labelled : bare;
}

function fit(sizes: readonly number[], space: Space): Packing {
  let best = shelve(sizes, space, space.least);
  let low = space.least + 1;
  let high = Math.max(space.least, Math.min(space.most, space.width));
  while (low <= high) {
    const pitch = (low + high) >> 1;
    const tried = shelve(sizes, space, pitch);
    if (tried.rows * pitch <= space.height) {
      best = tried;
      low = pitch + 1;
    } else {
      high = pitch - 1;
    }
  }
  return best;
}

/** Sets blocks side by side and begins a new shelf where the width ends. */
function shelve(sizes: readonly number[], space: Space, pitch: number): Packing {
  const columns = Math.max(1, Math.floor(space.width / pitch));
  const several = sizes.length > 1;
  const header = several ? Math.ceil(space.labelHeight / pitch) : 0;
  const gap = several ? Math.max(1, Math.round(MIN_GAP / pitch)) : 0;
  const labelColumns = several ? Math.ceil(space.labelWidth / pitch) : 0;
  const blocks: Block[] = [];
  let x = 0;
  let y = 0;
  let shelf = 0;
  for (const size of sizes) {
    const wide = blockColumns(size, columns);
    const taken = Math.min(columns, Math.max(wide, labelColumns));
    const rows = header + Math.ceil(size / wide);
    if (x > 0 && x + taken > columns) {
      x = 0;
      y += shelf + gap;
      shelf = 0;
    }
    blocks.push({ x, y, columns: wide, rows, header });
    x += taken + gap;
    shelf = Math.max(shelf, rows);
  }
  return { pitch, columns, rows: y + shelf, blocks };
}

const MIN_GAP = 6;

/** A GPU server's eight in a row; larger groups nearly square, those that fill rows by themselves as wide as the map. */
function blockColumns(size: number, columns: number): number {
  if (size <= 8) {
    return Math.max(1, Math.min(size, columns));
  }
  return size >= 4 * columns ? columns : Math.min(columns, Math.max(8, Math.ceil(Math.sqrt(2 * size))));
}
