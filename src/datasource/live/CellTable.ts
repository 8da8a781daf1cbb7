import { type DataFrame } from '@grafana/data';

import { decodeCells } from '../../shared/decodeCells';
import { type Continued } from './Continued';

/** What the backend wrote into the table about its cells, `meta.custom.matrix`. */
interface Matrix {
  /** Packets with another one are not of this table. */
  layout: string;
  /** So many of the first rows have a cell. */
  cells: number;
}

/** A table of a whole fleet, of which packets bring the values of the last column. */
export class CellTable implements Continued {
  private values: unknown[];
  private newest = -Infinity;
  private readonly matrix: Matrix | undefined;

  constructor(private readonly seed: DataFrame) {
    this.matrix = seed.meta?.custom?.matrix;
    this.values = Array.from<unknown>(seed.fields[seed.fields.length - 1]?.values ?? []);
  }

  overlay(buffer: DataFrame): number {
    const at = Number(lastOf(buffer, 'time') ?? NaN);
    const cells = lastOf(buffer, 'cells');
    if (!(at > this.newest) || typeof cells !== 'string' || this.differsFrom(buffer)) {
      return 0;
    }
    const fresh = decodeCells({ cells, min: Number(lastOf(buffer, 'min')), max: Number(lastOf(buffer, 'max')) });
    if (fresh.length !== this.matrix?.cells) {
      return 0;
    }
    this.newest = at;
    this.values = [...fresh, ...this.values.slice(fresh.length)];
    return 1;
  }

  differsFrom(buffer: DataFrame): boolean {
    const layout = lastOf(buffer, 'layout');
    return layout !== undefined && layout !== this.matrix?.layout;
  }

  toFrame(): DataFrame {
    const last = this.seed.fields.length - 1;
    const fields = this.seed.fields.map((field, i) =>
      i === last ? { ...field, state: null, values: this.values } : field
    );
    return { ...this.seed, fields };
  }
}

function lastOf(buffer: DataFrame, name: string): unknown {
  const values = buffer.fields.find((field) => field.name === name)?.values;
  return values?.[values.length - 1];
}
