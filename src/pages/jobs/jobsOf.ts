import { type DataFrame, type Field, FieldType, toDataFrame } from '@grafana/data';

import { frameNamed, numberOf, type Row, rowsOf, textOf } from '../shared/rows';
import { jobOfOwner, jobOfRow, jobOfWorkload, keyText, type JobKey } from './jobKey';
import { type Measure, MEASURES } from './progress';

/** The name of the frame that is made here. */
export const JOBS_FRAME = 'jobs';

/** Columns of texts, out of the judgement of stragglers. */
const JUDGED = [
  'severity',
  'verdict',
  'reason',
  'evidence',
  'action',
  'who_acts',
  'confidence',
  'compared_by',
  'missing',
];

/** Columns of numbers of the same, with their units. */
const JUDGED_NUMBERS: Array<[column: string, unit: string]> = [
  ['ranks', 'none'],
  ['lost_gpu_hours', 'short'],
  ['goodput', 'percentunit'],
];

type Cells = Record<string, string | number | undefined>;

/** How values of several GPUs or pods of a job are put together. */
const PUT_TOGETHER = {
  sum: (all: number[]) => all.reduce((total, value) => total + value, 0),
  max: (all: number[]) => Math.max(...all),
  avg: (all: number[]) => all.reduce((total, value) => total + value, 0) / all.length,
  p95: (all: number[]) => Math.max(...all),
};

/**
 * One table of jobs out of what different queries say of them: stragglers, what jobs tell of themselves, and the GPUs that they
 * have. What nobody said of a job is absent, not zero.
 */
export function jobsFrame(frames: DataFrame[]): DataFrame {
  const jobs = new Jobs();
  for (const row of rowsOf(frameNamed(frames, 'stragglers'))) {
    const judged = [...JUDGED.map((column) => [column, textOf(row, column)] as const)];
    const numbers = JUDGED_NUMBERS.map(([column]) => [column, numberOf(row, column)] as const);
    Object.assign(jobs.at(jobOfRow(row)), Object.fromEntries([...judged, ...numbers]));
  }
  for (const measure of MEASURES) {
    jobs.measured(measure, rowsOf(frameNamed(frames, measure.metric)));
  }
  jobs.hardware(rowsOf(frameNamed(frames, 'inventory')));
  return toDataFrame({ name: JOBS_FRAME, fields: fieldsOf(jobs.all(), frames) });
}

class Jobs {
  private readonly byKey = new Map<string, Cells>();

  at(key: JobKey): Cells {
    const text = keyText(key);
    const cells = this.byKey.get(text) ?? { ...key };
    this.byKey.set(text, cells);
    return cells;
  }

  measured({ metric, aggregation, by }: Measure, rows: Row[]) {
    for (const [key, own] of grouped(rows, (row) => jobOfWorkload(row, by === 'pod'))) {
      this.at(key)[metric] = together(own, metric, aggregation);
    }
  }

  /** The GPUs and MIG instances of each job now. */
  hardware(inventory: Row[]) {
    for (const [key, own] of grouped(inventory, jobOfOwner)) {
      Object.assign(this.at(key), {
        devices: own.length,
        sm_active: together(own, 'sm_active', 'avg'),
        power: together(own, 'power', 'sum'),
        memory_used: together(own, 'memory_used', 'sum'),
      });
    }
  }

  /** Those that the backend judged come in its order, which is the worst first. */
  all(): Cells[] {
    return [...this.byKey.values()];
  }
}

function grouped(rows: Row[], keyOf: (row: Row) => JobKey | undefined): Array<[JobKey, Row[]]> {
  const groups = new Map<string, [JobKey, Row[]]>();
  for (const row of rows) {
    const key = keyOf(row);
    if (key) {
      const group: [JobKey, Row[]] = groups.get(keyText(key)) ?? [key, []];
      group[1].push(row);
      groups.set(keyText(key), group);
    }
  }
  return [...groups.values()];
}

function together(rows: Row[], column: string, how: keyof typeof PUT_TOGETHER): number | undefined {
  const known = rows.map((row) => numberOf(row, column)).filter((value) => value !== undefined);
  return known.length === 0 ? undefined : PUT_TOGETHER[how](known);
}

function fieldsOf(jobs: Cells[], frames: DataFrame[]): Array<Pick<Field, 'name' | 'type' | 'config' | 'values'>> {
  const text = (name: string) => ({
    name,
    type: FieldType.string,
    config: {},
    values: jobs.map((cells) => cells[name] ?? ''),
  });
  const number = (name: string, unit: string | undefined, description?: string) => ({
    name,
    type: FieldType.number,
    config: { ...(unit && { unit }), ...(description && { description }) },
    values: jobs.map((cells) => cells[name] ?? null),
  });
  return [
    ...['cluster', 'namespace', 'job', ...JUDGED].map(text),
    ...JUDGED_NUMBERS.map(([name, unit]) => number(name, unit, meaningIn(frames, 'stragglers', name))),
    ...MEASURES.map(({ metric, unit, meaning }) => number(metric, unit ?? unitIn(frames, metric), meaning)),
    number('devices', 'none', 'GPUs and MIG instances that it has now.'),
    number('sm_active', 'percentunit', 'Mean of its GPUs and MIG instances now.'),
    number('power', 'watt', 'Of its whole GPUs now; a MIG instance has no power of its own.'),
    number('memory_used', 'bytes', 'Of all its GPUs and MIG instances now.'),
  ];
}

function unitIn(frames: DataFrame[], metric: string): string | undefined {
  return frameNamed(frames, metric)?.fields.find(({ name }) => name === metric)?.config.unit;
}

function meaningIn(frames: DataFrame[], frame: string, column: string): string | undefined {
  return frameNamed(frames, frame)?.fields.find(({ name }) => name === column)?.config.description;
}
