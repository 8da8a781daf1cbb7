import { type DataFrame } from '@grafana/data';

/** A row of a table by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** The rows of a frame; none of no frame. */
export function rowsOf(frame: DataFrame | undefined): Row[] {
  if (!frame) {
    return [];
  }
  return Array.from({ length: frame.length }, (_, i) =>
    Object.fromEntries(frame.fields.map(({ name, values }) => [name, values[i]] as const))
  );
}

/** The frame of a name among those of an answer. */
export function frameNamed(frames: DataFrame[] | undefined, name: string): DataFrame | undefined {
  return frames?.find((frame) => frame.name === name);
}

/** The text of a cell; '' where there is none. */
export function textOf(row: Row, column: string): string {
  const value = row[column];
  return value === null || value === undefined ? '' : String(value);
}

/** The number of a cell; undefined where nothing was measured. Absent is not zero. */
export function numberOf(row: Row, column: string): number | undefined {
  const value = row[column];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
