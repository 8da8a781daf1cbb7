import { type Fleet, slicesOf } from '../fleet/Fleet';
import { type Strip } from './pack';
import { type Places } from './place';
import { SPLIT_COLUMNS, SPLIT_ROWS } from './slices';

/** A place on the map, in pixels of the screen from its left and its top. */
export interface Point {
  x: number;
  y: number;
}

export interface Rect extends Point {
  width: number;
  height: number;
}

/** The cell at a point: a GPU, or the MIG instance within it; -1 for none. */
export function cellAt(fleet: Fleet, places: Places, point: Point): number {
  const strip = places.strips.find((each) => holds(each, places.pitch, point));
  if (!strip) {
    return -1;
  }
  const x = (point.x - strip.left) / places.pitch;
  const y = (point.y - strip.top) / places.pitch;
  const gpu = places.grid[(strip.y + Math.floor(y)) * places.columns + strip.x + Math.floor(x)];
  if (gpu < 0) {
    return -1;
  }
  const { from, to, own } = places.slices;
  if (own[gpu] === 1 && y % 1 < 1 / SPLIT_ROWS) {
    return gpu;
  }
  const part = (x % 1) * SPLIT_COLUMNS;
  return slicesOf(fleet, gpu).find((slice) => part >= from[slice] && part < to[slice]) ?? gpu;
}

function holds({ left, top, columns, rows }: Strip, pitch: number, { x, y }: Point): boolean {
  return x >= left && y >= top && x < left + columns * pitch && y < top + rows * pitch;
}

/** The group whose name is at a point; -1 for none. */
export function nameAt({ blocks }: Places, { x, y }: Point): number {
  return blocks.findIndex(
    ({ left, top, header, room }) => x >= left && x < left + room && y >= top - header && y < top
  );
}

/** The room of a cell. */
export function rectOf(fleet: Fleet, places: Places, cell: number): Rect {
  const { pitch } = places;
  const gpu = fleet.parent[cell] >= 0 ? fleet.parent[cell] : cell;
  const { x, y } = cornerOf(places, places.at[gpu]);
  const { from, to, own } = places.slices;
  if (gpu === cell || to[cell] === 0) {
    return { x, y, width: pitch, height: pitch };
  }
  const top = own[gpu] === 1 ? pitch / SPLIT_ROWS : 0;
  return {
    x: x + (from[cell] * pitch) / SPLIT_COLUMNS,
    y: y + top,
    width: ((to[cell] - from[cell]) * pitch) / SPLIT_COLUMNS,
    height: pitch - top,
  };
}

/** Where a place of the grid is on the map. */
function cornerOf({ columns, strips, pitch }: Places, place: number): Point {
  const x = place % columns;
  const y = Math.floor(place / columns);
  const strip = strips.find(
    (each) => x >= each.x && x < each.x + each.columns && y >= each.y && y < each.y + each.rows
  );
  if (!strip) {
    throw new Error(`No cell is at ${x}, ${y} of the fleet map.`);
  }
  return { x: strip.left + (x - strip.x) * pitch, y: strip.top + (y - strip.y) * pitch };
}

/** The GPUs in a rectangle between two points, whichever corners these are. */
export function gpusWithin(places: Places, a: Point, b: Point): number[] {
  const { pitch, columns, grid } = places;
  const [left, right] = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
  const [top, bottom] = [Math.min(a.y, b.y), Math.max(a.y, b.y)];
  const gpus: number[] = [];
  for (const strip of places.strips) {
    const lastRow = Math.min(strip.rows - 1, Math.floor((bottom - strip.top) / pitch));
    const lastColumn = Math.min(strip.columns - 1, Math.floor((right - strip.left) / pitch));
    for (let row = Math.max(0, Math.floor((top - strip.top) / pitch)); row <= lastRow; row++) {
      for (let column = Math.max(0, Math.floor((left - strip.left) / pitch)); column <= lastColumn; column++) {
        const gpu = grid[(strip.y + row) * columns + strip.x + column];
        if (gpu >= 0) {
          gpus.push(gpu);
        }
      }
    }
  }
  return gpus;
}
