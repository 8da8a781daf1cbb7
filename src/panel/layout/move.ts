import { type Fleet, slicesOf } from '../fleet/Fleet';
import { type Places } from './place';

export type Step = 'left' | 'right' | 'up' | 'down' | 'home' | 'end' | 'nextGroup' | 'previousGroup';

/** The cell that a key leads to. Where there is none in that direction, the same. -1 stands for none yet. */
export function move(fleet: Fleet, places: Places, cell: number, step: Step): number {
  const order = places.groups;
  const first = order.find(({ gpus }) => gpus.length > 0)?.gpus[0] ?? -1;
  if (cell < 0 || first < 0) {
    return first;
  }
  const gpu = fleet.parent[cell] >= 0 ? fleet.parent[cell] : cell;
  switch (step) {
    case 'left':
    case 'right':
      return sideways(fleet, places, gpu, cell, step === 'right' ? 1 : -1);
    case 'up':
    case 'down':
      return vertically(places, gpu, step === 'down' ? 1 : -1);
    case 'home':
      return first;
    case 'end':
      return lastOf(order.map(({ gpus }) => lastOf(gpus) ?? -1).filter((last) => last >= 0)) ?? first;
    default:
      return otherGroup(places, gpu, step === 'nextGroup' ? 1 : -1);
  }
}

/** Through a GPU, then its MIG instances, then the next GPU, in reading order. */
function sideways(fleet: Fleet, places: Places, gpu: number, cell: number, by: 1 | -1): number {
  const within = stops(fleet, places, gpu);
  const next = within[within.indexOf(cell) + by];
  if (next !== undefined) {
    return next;
  }
  for (let place = places.at[gpu] + by; place >= 0 && place < places.grid.length; place += by) {
    const found = places.grid[place];
    if (found >= 0) {
      const there = stops(fleet, places, found);
      return by > 0 ? there[0] : there[there.length - 1];
    }
  }
  return cell;
}

function stops(fleet: Fleet, places: Places, gpu: number): number[] {
  return [gpu, ...Array.from(slicesOf(fleet, gpu)).filter((slice) => places.slices.to[slice] > 0)];
}

/** The GPU that is nearest in the next row that has any. */
function vertically(places: Places, gpu: number, by: 1 | -1): number {
  const column = places.at[gpu] % places.columns;
  const row = Math.floor(places.at[gpu] / places.columns);
  for (let y = row + by; y >= 0 && y < places.rows; y += by) {
    const found = nearest(places, column, y);
    if (found >= 0) {
      return found;
    }
  }
  return gpu;
}

function nearest(places: Places, column: number, row: number): number {
  const start = row * places.columns;
  for (let away = 0; away < places.columns; away++) {
    for (const x of [column - away, column + away]) {
      if (x >= 0 && x < places.columns && places.grid[start + x] >= 0) {
        return places.grid[start + x];
      }
    }
  }
  return -1;
}

function otherGroup(places: Places, gpu: number, by: 1 | -1): number {
  const at = places.groups.findIndex(({ gpus }) => gpus.includes(gpu));
  return places.groups[at + by]?.gpus[0] ?? gpu;
}

function lastOf<T>(all: readonly T[]): T | undefined {
  return all[all.length - 1];
}
