import { type DataFrame, FieldType, LoadingState, toDataFrame } from '@grafana/data';
import { of, throwError } from 'rxjs';

import { type GpuQuery } from '../../datasource/types';

type Cell = string | number | null;

/** A table by its columns; times are milliseconds in the columns that are named. */
export function tableFrame(name: string, columns: Record<string, Cell[]>, times: string[] = ['since']): DataFrame {
  const typeOf = (column: string, values: Cell[]) => {
    if (times.includes(column)) {
      return FieldType.time;
    }
    return values.some((value) => typeof value === 'number') ? FieldType.number : FieldType.string;
  };
  return toDataFrame({
    name,
    fields: Object.entries(columns).map(([column, values]) => ({ name: column, type: typeOf(column, values), values })),
  });
}

/** A table by its rows, which all have the same columns. */
export function rowFrame(name: string, rows: Array<Record<string, Cell>>, times?: string[]): DataFrame {
  const columns = Object.keys(rows[0] ?? {}).map((column) => [column, rows.map((row) => row[column])] as const);
  return tableFrame(name, Object.fromEntries(columns), times);
}

/** A data source that answers queries by their metric or type; an Error is what the query failed with. */
export class FakeSource {
  readonly queries: GpuQuery[] = [];

  constructor(public answers: Partial<Record<string, DataFrame[] | Error>> = {}) {}

  query({ targets }: { targets: GpuQuery[] }) {
    this.queries.push(...targets);
    const answers = targets.map(({ queryType, metric }) => this.answers[metric ?? queryType ?? ''] ?? []);
    const failed = answers.find((answer) => answer instanceof Error);
    if (failed) {
      return throwError(() => failed);
    }
    return of({ data: answers.flat(), state: LoadingState.Done });
  }
}
