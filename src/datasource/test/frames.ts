import { createDataFrame, type DataFrame, FieldType } from '@grafana/data';

import { type LiveContinuation } from '../types';

/** A multiple of all steps that the tests use. */
export const START = 1_793_400_000_000;

type Row = [second: number, ...values: Array<number | null>];

interface Options {
  refId?: string;
  gpus?: string[];
  live?: Partial<LiveContinuation>;
}

/** A wide frame as the backend answers: a time in seconds after START, then a value for each GPU. */
export function wideFrame(rows: Row[], { refId = 'A', gpus = ['0', '1'], live }: Options = {}): DataFrame {
  const frame = createDataFrame({
    refId,
    name: 'gpu_power_watts',
    meta: { custom: live && { live: { path: 'q/0', data: { query: {} }, stepMs: 1000, rangeMs: 10_000, ...live } } },
    fields: [
      { name: 'time', type: FieldType.time, values: rows.map(([second]) => START + second * 1000) },
      ...gpus.map((gpu, i) => ({
        name: `node-1 · GPU ${gpu}`,
        type: FieldType.number,
        labels: { node: 'node-1', gpu },
        config: { displayNameFromDS: `GPU ${gpu}` },
        values: rows.map((row) => row[i + 1] ?? null),
      })),
    ],
  });
  return { ...frame, length: rows.length };
}

/** The rows of a wide frame, as wideFrame takes them. */
export function rowsOf(frame: DataFrame): Row[] {
  const [time, ...values] = frame.fields;
  return Array.from({ length: frame.length }, (_, i) => [
    (time.values[i] - START) / 1000,
    ...values.map((field) => field.values[i]),
  ]);
}
