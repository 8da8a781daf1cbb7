/** How many steps from the least to the largest value a cell tells apart. */
const STEPS = 254;

/** The values of very many devices at one time, as the backend packs them. */
export interface Cells {
  /** A byte for each device, in base64: 0 where there is no value, else 1 for `min` to 255 for `max`. */
  cells: string;
  min: number;
  max: number;
}

/** The values of cells, null where there is none. */
export function decodeCells({ cells, min, max }: Cells): Array<number | null> {
  const bytes = atob(cells);
  const values = new Array<number | null>(bytes.length);
  for (let i = 0; i < bytes.length; i++) {
    const cell = bytes.charCodeAt(i);
    values[i] = cell === 0 ? null : min + ((cell - 1) / STEPS) * (max - min);
  }
  return values;
}
