import { type Fleet, slicesOf } from '../fleet/Fleet';
import { type Places } from '../layout/place';
import { SPLIT_COLUMNS, SPLIT_ROWS } from '../layout/slices';

/** Writes a pixel for each GPU. GPUs that are drawn split have none. Reports whether all cells have a colour. */
export function paintGpus(places: Places, colours: Uint32Array, pixels: Uint32Array): boolean {
  const { at } = places;
  let complete = places.slices.split.length === 0;
  for (let cell = 0; cell < at.length; cell++) {
    if (at[cell] >= 0) {
      const colour = colours[cell];
      pixels[at[cell]] = colour;
      complete &&= colour !== 0;
    }
  }
  for (const gpu of places.slices.split) {
    pixels[at[gpu]] = 0;
  }
  return complete;
}

/** Writes the pixels of the GPUs that are drawn split: their own on top, then those of their MIG instances side by side. */
export function paintSlices(fleet: Fleet, places: Places, colours: Uint32Array, pixels: Uint32Array): void {
  const stride = places.columns * SPLIT_COLUMNS;
  const { split, from, to, own } = places.slices;
  for (const gpu of split) {
    const left = (places.at[gpu] % places.columns) * SPLIT_COLUMNS;
    const top = Math.floor(places.at[gpu] / places.columns) * SPLIT_ROWS;
    let first = top;
    if (own[gpu] === 1) {
      const row = top * stride + left;
      pixels.fill(colours[gpu], row, row + SPLIT_COLUMNS);
      first++;
    }
    for (const slice of slicesOf(fleet, gpu)) {
      for (let row = first; row < top + SPLIT_ROWS; row++) {
        pixels.fill(colours[slice], row * stride + left + from[slice], row * stride + left + to[slice]);
      }
    }
  }
}
