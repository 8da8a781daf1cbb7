import { type Fleet, slicesOf } from '../fleet/Fleet';
import { type Places } from './place';
import { SPLIT_COLUMNS, SPLIT_ROWS } from './slices';

/** A place on the map, in cells from its left and its top. */
export interface Point {
  x: number;
  y: number;
}

/** The cell at a point: a GPU, or the MIG instance within it; -1 for none. */
export function cellAt(fleet: Fleet, places: Places, { x, y }: Point): number {
  const column = Math.floor(x);
  const row = Math.floor(y);
  if (column < 0 || row < 0 || column >= places.columns || row >= places.rows) {
    return -1;
  }
  const gpu = places.grid[row * places.columns + column];
  if (gpu < 0) {
    return -1;
  }
  const { from, to, own } = places.slices;
  if (own[gpu] === 1 && y - row < 1 / SPLIT_ROWS) {
    return gpu;
  }
  const part = (x - column) * SPLIT_COLUMNS;
  return slicesOf(fleet, gpu).find((slice) => part >= from[slice] && part < to[slice]) ?? gpu;
}

/** The room of a cell, in cells of the grid. */
export function rectOf(fleet: Fleet, places: Places, cell: number): Point & { width: number; height: number } {
  const gpu = fleet.parent[cell] >= 0 ? fleet.parent[cell] : cell;
  const x = places.at[gpu] % places.columns;
  const y = Math.floor(places.at[gpu] / places.columns);
  const { from, to, own } = places.slices;
  if (gpu === cell || to[cell] === 0) {
    return { x, y, width: 1, height: 1 };
  }
  const top = own[gpu] === 1 ? 1 / SPLIT_ROWS : 0;
  return {
    x: x + from[cell] / SPLIT_COLUMNS,
    y: y + top,
    width: (to[cell] - from[cell]) / SPLIT_COLUMNS,
    height: 1 - top,
  };
}

/** The GPUs in a rectangle between two points, whichever corners these are. */
export function gpusWithin(places: Places, a: Point, b: Point): number[] {
  const bound = (value: number, most: number) => Math.max(0, Math.min(most - 1, Math.floor(value)));
  const gpus: number[] = [];
  const left = bound(Math.min(a.x, b.x), places.columns);
  const right = bound(Math.max(a.x, b.x), places.columns);
  const bottom = bound(Math.max(a.y, b.y), places.rows);
  for (let row = bound(Math.min(a.y, b.y), places.rows); row <= bottom; row++) {
    for (let column = left; column <= right; column++) {
      const gpu = places.grid[row * places.columns + column];
      if (gpu >= 0) {
        gpus.push(gpu);
      }
    }
  }
  return gpus;
}
