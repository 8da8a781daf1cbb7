import { type Fleet } from '../fleet/Fleet';
import { type Group } from './groups';
import { type Packing } from './pack';
import { placeSlices, type SlicePlaces } from './slices';

/** Where every cell is. */
export interface Places extends Packing {
  groups: Group[];
  /** Of each GPU, its place on the grid, `y * columns + x`; -1 for cells that are none. */
  at: Int32Array;
  /** The GPU at each place, -1 for none. */
  grid: Int32Array;
  slices: SlicePlaces;
}

/** The side of a cell, in pixels, from which its MIG instances can be told apart. */
export const SPLIT_SIDE = 8;

export function placeFleet(fleet: Fleet, groups: Group[], packing: Packing, showMig: boolean): Places {
  const at = new Int32Array(fleet.count).fill(-1);
  const grid = new Int32Array(packing.columns * Math.max(1, packing.rows)).fill(-1);
  groups.forEach(({ gpus }, g) => {
    const { x, y, columns } = packing.blocks[g];
    gpus.forEach((gpu, i) => {
      const place = (y + Math.floor(i / columns)) * packing.columns + x + (i % columns);
      at[gpu] = place;
      grid[place] = gpu;
    });
  });
  return { ...packing, groups, at, grid, slices: placeSlices(fleet, showMig && packing.pitch >= SPLIT_SIDE) };
}
