import { type DataFrame, FieldType } from '@grafana/data';

import { type Continued } from './Continued';

/** How many rows are kept: nobody reads more, and events of a storm must not fill a browser. */
const MAX_ROWS = 5000;

/** How many rows Grafana's buffer may have: what it repeats must still be known. */
export const MAX_BUFFER_ROWS = 2 * MAX_ROWS;

/**
 * A table of what happened, which grows. Grafana's buffer may hold rows of before the answer and repeats them with each
 * packet, so that rows are told apart by all they say.
 */
export class AppendedTable implements Continued {
  private readonly known: Set<string>;
  private columns: unknown[][];

  constructor(
    private readonly seed: DataFrame,
    private readonly rangeMs: number
  ) {
    this.columns = seed.fields.map((field) => Array.from<unknown>(field.values));
    this.known = new Set(Array.from({ length: seed.length }, (_, row) => rowKey(this.columns, row)));
  }

  overlay(buffer: DataFrame): number {
    const columns = this.seed.fields.map(
      ({ name }) => buffer.fields.find((field) => field.name === name)?.values ?? []
    );
    const oldest = this.oldest(columns);
    let added = 0;
    for (let row = 0; row < buffer.length; row++) {
      const key = rowKey(columns, row);
      if (this.known.has(key) || this.timeOf(columns, row) < oldest) {
        continue;
      }
      this.known.add(key);
      this.columns.forEach((column, i) => column.push(columns[i][row] ?? null));
      added++;
    }
    if (added > 0) {
      this.trim(oldest);
    }
    return added;
  }

  differsFrom(): boolean {
    return false;
  }

  toFrame(): DataFrame {
    const fields = this.seed.fields.map((field, i) => ({ ...field, values: this.columns[i].slice() }));
    return { ...this.seed, fields, length: this.columns[0]?.length ?? 0 };
  }

  private timeOf(columns: Array<ArrayLike<unknown>>, row: number): number {
    const time = this.seed.fields.findIndex(({ type }) => type === FieldType.time);
    return time < 0 ? Infinity : Number(columns[time]?.[row]);
  }

  /** Before when rows have left the panel. */
  private oldest(columns: Array<ArrayLike<unknown>>): number {
    const rows = columns[0]?.length ?? 0;
    let newest = -Infinity;
    for (let row = 0; row < rows; row++) {
      newest = Math.max(newest, this.timeOf(columns, row));
    }
    return Number.isFinite(newest) ? newest - this.rangeMs : -Infinity;
  }

  private trim(oldest: number): void {
    const rows = this.columns[0]?.length ?? 0;
    const kept = Array.from({ length: rows }, (_, row) => row)
      .filter((row) => this.timeOf(this.columns, row) >= oldest)
      .slice(-MAX_ROWS);
    if (kept.length < rows) {
      this.columns = this.columns.map((column) => kept.map((row) => column[row]));
    }
    if (this.known.size > 2 * MAX_BUFFER_ROWS) {
      Array.from(this.known)
        .slice(0, -MAX_BUFFER_ROWS)
        .forEach((key) => this.known.delete(key));
    }
  }
}

function rowKey(columns: Array<ArrayLike<unknown>>, row: number): string {
  return JSON.stringify(columns.map((column) => column[row] ?? null));
}
