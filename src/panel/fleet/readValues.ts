import { type DataFrame, type Field, FieldType } from '@grafana/data';

import { type Fleet, type Source } from './Fleet';

/** A number for each cell, NaN where there is none. */
export interface Values {
  values: Float64Array;
  /** How values are shown. */
  field: Field | undefined;
  source: Source | undefined;
  /** GPUs whose value is the highest of their MIG instances, for want of their own. */
  ofSlices: Uint8Array;
}

/** Columns of numbers that are no measurements. */
const CODES = new Set(['pid', 'xid', 'gpu', 'index', 'mig_id', 'compute_instance']);

/** The columns of numbers that a table can be coloured by. */
export function valueFields(frame: DataFrame): Field[] {
  return frame.fields.filter(({ type, name }) => type === FieldType.number && !CODES.has(name));
}

/** Reads the newest values: of the column that is named, else of the first frame that has any. */
export function readValues(frames: readonly DataFrame[], fleet: Fleet, name?: string): Values {
  const values = new Float64Array(fleet.count).fill(NaN);
  const result: Values = { values, field: undefined, source: undefined, ofSlices: new Uint8Array(fleet.count) };
  for (const source of fleet.sources) {
    const frame = frames[source.frame];
    const field =
      source.kind === 'series' ? readSeries(frame, source, values) : readColumn(frame, source, values, name);
    if (field) {
      result.field ??= field;
      result.source ??= source;
      if (source.kind === 'table') {
        break;
      }
    }
  }
  fillGpus(fleet, result);
  return result;
}

function readColumn(frame: DataFrame, { rows }: Source, into: Float64Array, name?: string): Field | undefined {
  const all = valueFields(frame);
  const field = name ? all.find((candidate) => candidate.name === name) : all[0];
  if (!field) {
    return undefined;
  }
  const { values } = field;
  for (let cell = 0; cell < rows.length; cell++) {
    const value: unknown = rows[cell] < 0 ? null : values[rows[cell]];
    into[cell] = typeof value === 'number' ? value : NaN;
  }
  return field;
}

function readSeries(frame: DataFrame, { rows }: Source, into: Float64Array): Field | undefined {
  let first: Field | undefined;
  rows.forEach((row, cell) => {
    const field = row < 0 ? undefined : frame.fields[row];
    if (field?.type === FieldType.number) {
      first ??= field;
      into[cell] = Number(field.values[lastIndex(field)] ?? NaN);
    }
  });
  return first;
}

/** The row of the last value of a series, -1 when it has none. Rows that the stream has not filled yet are undefined. */
export function lastIndex({ values }: Field): number {
  let at = values.length - 1;
  while (at >= 0 && (values[at] === null || values[at] === undefined)) {
    at--;
  }
  return at;
}

function fillGpus(fleet: Fleet, { values, ofSlices }: Values) {
  fleet.parent.forEach((gpu, cell) => {
    if (gpu < 0 || Number.isNaN(values[cell])) {
      return;
    }
    if (Number.isNaN(values[gpu])) {
      ofSlices[gpu] = 1;
      values[gpu] = values[cell];
    } else if (ofSlices[gpu] === 1) {
      values[gpu] = Math.max(values[gpu], values[cell]);
    }
  });
}
