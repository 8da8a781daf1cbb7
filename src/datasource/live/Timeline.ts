import { type DataFrame, type Field, FieldType } from '@grafana/data';

import { type Continued } from './Continued';

interface Column {
  field: Field;
  values: unknown[];
}

/** Rows behind the newest that a packet may still complete: a bin that was open, a node that was late. */
const SETTLE_STEPS = 2;
const SETTLE_MS = 2000;

/** How many rows may lie before the range before they are dropped, so that dropping costs little per row. */
const SLACK_ROWS = 256;

/**
 * One wide frame that grows at its end: the answer of a query, then what the stream delivers. Rows are told apart by
 * time and columns by name and labels, so that a packet which repeats, completes or overlaps what is there changes
 * nothing else. It holds at least the answer's range and at most that range and some slack.
 */
export class Timeline implements Continued {
  private times: number[];
  private readonly timeField: Field;
  /** By key, in the order of the answer. */
  private readonly columns: Map<string, Column>;

  constructor(
    private readonly seed: DataFrame,
    private readonly rangeMs: number,
    private readonly stepMs: number
  ) {
    const timeField = seed.fields.find((field) => field.type === FieldType.time);
    if (!timeField) {
      throw new Error('A frame without a time field cannot be continued by a stream.');
    }
    this.timeField = timeField;
    this.times = Array.from<number>(timeField.values);
    this.columns = new Map(
      seed.fields
        .filter((field) => field !== timeField)
        .map((field) => [columnKey(field), { field, values: Array.from<unknown>(field.values) }])
    );
  }

  /** Time of the newest row in ms, or -Infinity. */
  get end(): number {
    return this.times.length ? this.times[this.times.length - 1] : -Infinity;
  }

  /**
   * Lays the newest rows of a frame over what is there. Rows older than the newest by more than a late node may be are
   * left alone: the answer knew better. A null takes nothing away, and a column that the answer lacks is passed over.
   * Returns the number of rows that are newer than all before.
   */
  overlay(frame: DataFrame): number {
    const time = frame.fields.find((field) => field.type === FieldType.time);
    if (!time) {
      return 0;
    }
    const before = this.end;
    const settled = before - Math.max(SETTLE_STEPS * this.stepMs, SETTLE_MS);
    const first = firstUnsettled(time.values, settled);
    const targets = frame.fields.map((field) => (field === time ? undefined : this.columns.get(columnKey(field))));

    let added = 0;
    for (let row = first; row < time.values.length; row++) {
      const at: number = time.values[row];
      added += at > before ? 1 : 0;
      const index = this.rowFor(at);
      targets.forEach((column, i) => {
        const value: unknown = frame.fields[i].values[row];
        if (column && value !== null && value !== undefined) {
          column.values[index] = value;
        }
      });
    }
    this.trim();
    return added;
  }

  /** Whether a frame has other columns than the answer: a device came or went. */
  differsFrom(frame: DataFrame): boolean {
    const keys = frame.fields.filter((field) => field.type !== FieldType.time).map(columnKey);
    return keys.length !== this.columns.size || keys.some((key) => !this.columns.has(key));
  }

  /** The frame as it stands now. It shares nothing that later rows change. */
  toFrame(): DataFrame {
    const start = this.firstInRange();
    const slice = (field: Field, values: unknown[]): Field => ({
      name: field.name,
      type: field.type,
      config: field.config,
      labels: field.labels,
      values: values.slice(start),
    });
    const columns = Array.from(this.columns.values(), ({ field, values }) => slice(field, values));
    return {
      ...this.seed,
      fields: [slice(this.timeField, this.times), ...columns],
      length: this.times.length - start,
    };
  }

  /** The index of the row at a time, made where there is none. */
  private rowFor(at: number): number {
    let index = this.times.length;
    while (index > 0 && this.times[index - 1] > at) {
      index--;
    }
    if (index > 0 && this.times[index - 1] === at) {
      return index - 1;
    }
    this.times.splice(index, 0, at);
    this.columns.forEach((column) => column.values.splice(index, 0, null));
    return index;
  }

  private firstInRange(): number {
    // One step more: a line enters the panel from a point to its left.
    const oldest = this.end - this.rangeMs - this.stepMs;
    let index = 0;
    while (index < this.times.length && this.times[index] < oldest) {
      index++;
    }
    return index;
  }

  private trim(): void {
    const start = this.firstInRange();
    if (start > SLACK_ROWS) {
      this.times = this.times.slice(start);
      this.columns.forEach((column) => {
        column.values = column.values.slice(start);
      });
    }
  }
}

/** The first of the trailing rows that are not settled yet. */
function firstUnsettled(times: number[], settled: number): number {
  let index = times.length;
  while (index > 0 && times[index - 1] >= settled) {
    index--;
  }
  return index;
}

/** Name and labels: what a column's values belong to, whatever its position. */
function columnKey(field: Field): string {
  const labels = Object.entries(field.labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([field.name, labels]);
}
