import { type Fleet } from './Fleet';

/** How many values of each cell are kept. */
export const KEPT = 24;

export interface Sample {
  at: number;
  value: number;
}

/** The last values of every cell, in one block of memory that does not grow. */
export class Recent {
  private readonly values: Float32Array;
  private readonly times = new Float64Array(KEPT);
  private taken = 0;

  constructor(private readonly fleet: Fleet) {
    this.values = new Float32Array(fleet.count * KEPT);
  }

  /** Keeps the values of a time. */
  push(at: number, values: Float64Array): void {
    const slot = this.taken % KEPT;
    this.times[slot] = at;
    this.values.set(values, slot * this.fleet.count);
    this.taken++;
  }

  /** What is kept of a cell, oldest first. Values that were missing are NaN. */
  of(cell: number): Sample[] {
    const samples: Sample[] = [];
    for (let i = Math.max(0, this.taken - KEPT); i < this.taken; i++) {
      const slot = i % KEPT;
      samples.push({ at: this.times[slot], value: this.values[slot * this.fleet.count + cell] });
    }
    return samples;
  }

  /** The same for another fleet: what is kept goes to the cells with the same names. */
  movedTo(fleet: Fleet): Recent {
    const moved = new Recent(fleet);
    const from = new Int32Array(fleet.count).fill(-1);
    fleet.index.forEach((cell, key) => {
      from[cell] = this.fleet.index.get(key) ?? -1;
    });
    const values = new Float64Array(fleet.count);
    for (let i = Math.max(0, this.taken - KEPT); i < this.taken; i++) {
      const slot = i % KEPT;
      from.forEach((old, cell) => {
        values[cell] = old < 0 ? NaN : this.values[slot * this.fleet.count + old];
      });
      moved.push(this.times[slot], values);
    }
    return moved;
  }
}
