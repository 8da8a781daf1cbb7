import { type DataFrame, type Field, FieldType } from '@grafana/data';

import { type Dimension, DIMENSION_NAMES, DIMENSIONS, type Fleet, type Identity, type Source } from './Fleet';
import { FleetBuilder } from './FleetBuilder';

const NOTHING = Object.fromEntries(DIMENSION_NAMES.map((name) => [name, ''])) as Identity;

/** Reads which cells frames are about: tables with columns that name GPUs, or time series with labels that do. */
export function readFleet(frames: readonly DataFrame[]): Fleet {
  const builder = new FleetBuilder();
  const sources = frames.flatMap((frame, i) => {
    const kind = kindOf(frame);
    return kind === undefined ? [] : [{ frame: i, kind, cells: READERS[kind](frame, builder) }];
  });
  return builder.build(sources);
}

const READERS: Record<Source['kind'], (frame: DataFrame, builder: FleetBuilder) => Int32Array> = {
  table: readTable,
  series: readSeries,
};

function kindOf(frame: DataFrame): Source['kind'] | undefined {
  if (columnsOf(frame, 'gpu').length + columnsOf(frame, 'gpu_uuid').length > 0) {
    return 'table';
  }
  return frame.fields.some(({ type }) => type === FieldType.time) ? 'series' : undefined;
}

function readTable(frame: DataFrame, builder: FleetBuilder): Int32Array {
  const columns = DIMENSION_NAMES.map((name) => [name, columnsOf(frame, name)] as const).filter(
    ([, found]) => found.length > 0
  );
  const cells = new Int32Array(frame.length);
  for (let row = 0; row < frame.length; row++) {
    const identity = { ...NOTHING };
    for (const [name, found] of columns) {
      identity[name] = firstText(found, row);
    }
    cells[row] = builder.add(identity);
  }
  return cells;
}

function readSeries(frame: DataFrame, builder: FleetBuilder): Int32Array {
  return Int32Array.from(frame.fields, (field) => {
    if (field.type === FieldType.time || !field.labels) {
      return -1;
    }
    const labels = field.labels;
    const identity = { ...NOTHING };
    for (const name of DIMENSION_NAMES) {
      const label = DIMENSIONS[name].find((alias) => Boolean(labels[alias]));
      identity[name] = label ? labels[label] : '';
    }
    return builder.add(identity);
  });
}

/** The columns of a dimension. Indices may be numbers. */
function columnsOf(frame: DataFrame, name: Dimension): Field[] {
  return DIMENSIONS[name].flatMap((alias) =>
    frame.fields.filter((field) => field.name === alias && isNaming(field, name))
  );
}

function isNaming({ type }: Field, name: Dimension): boolean {
  return type === FieldType.string || (type === FieldType.number && (name === 'gpu' || name === 'mig_id'));
}

function firstText(columns: Field[], row: number): string {
  for (const { values } of columns) {
    const value: unknown = values[row];
    if (value !== null && value !== undefined && value !== '') {
      return String(value);
    }
  }
  return '';
}

/** Whether frames name the same cells as others did: a stream brings new values and the same names every second. */
export function sameNames(a: readonly DataFrame[], b: readonly DataFrame[]): boolean {
  return a.length === b.length && a.every((frame, i) => sameFrame(frame, b[i]));
}

const NAMING = new Set<string>(Object.values(DIMENSIONS).flat());

function sameFrame(a: DataFrame, b: DataFrame): boolean {
  return (
    a.length === b.length &&
    a.fields.length === b.fields.length &&
    a.fields.every((field, i) => sameField(field, b.fields[i]))
  );
}

function sameField(a: Field, b: Field): boolean {
  if (a.name !== b.name || a.type !== b.type || !sameLabels(a, b)) {
    return false;
  }
  return !NAMING.has(a.name) || a.values === b.values || a.values.every((value, i) => value === b.values[i]);
}

function sameLabels(a: Field, b: Field): boolean {
  if (a.labels === b.labels) {
    return true;
  }
  const names = Object.keys(a.labels ?? {});
  return (
    names.length === Object.keys(b.labels ?? {}).length && names.every((name) => a.labels?.[name] === b.labels?.[name])
  );
}
