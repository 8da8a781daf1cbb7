import { type DataFrame, type Field, FieldType, formattedValueToString, type LinkModel } from '@grafana/data';

import { DIMENSION_NAMES, type Dimension, type Fleet, nameOf, type Source } from './fleet/Fleet';
import { type Recent, type Sample } from './fleet/Recent';
import { lastIndex, type Values } from './fleet/readValues';
import { type Verdicts } from './fleet/readVerdicts';

/** All that the panel knows of its cells now. */
export interface Known {
  frames: readonly DataFrame[];
  fleet: Fleet;
  values: Values;
  verdicts: Verdicts | undefined;
  recent: Recent;
  /** When the values were read, in Unix milliseconds. */
  at: number;
}

/** What people are told of a cell. */
export interface Description {
  name: string;
  /** The value with its unit. Undefined where nothing is measured. */
  value?: string;
  /** What the value is of. */
  metric?: string;
  /** The last value there was, and how old it is, where there is none now. */
  last?: Sample;
  ageMs?: number;
  verdict?: string;
  /** Why, what to do, and the like: a name and a text each. */
  reasons: Array<[string, string]>;
  identity: Array<[string, string]>;
  recent: Sample[];
}

const LABELS: Partial<Record<Dimension, string>> = {
  cluster: 'Cluster',
  rack: 'Rack',
  model: 'Model',
  mig_profile: 'MIG profile',
  job: 'Job',
  namespace: 'Namespace',
  user: 'User',
  gpu_uuid: 'UUID',
};

/** Columns of judgements that say why. */
const REASONS = {
  reason: 'Reason',
  evidence: 'Evidence',
  action: 'To do',
  throttle: 'Throttled by',
  xid_text: 'XID',
  agent: 'Agent',
};

/** The value of a cell as text; "" where there is none. */
export function valueText({ values }: Pick<Known, 'values'>, cell: number): string {
  const value = values.values[cell];
  const field = fieldOf(values);
  if (Number.isNaN(value)) {
    return '';
  }
  return field?.display ? formattedValueToString(field.display(value)) : String(value);
}

function fieldOf({ field }: Values): Field | undefined {
  return field;
}

export function verdictText({ verdicts }: Pick<Known, 'verdicts'>, cell: number): string {
  return verdicts && verdicts.of[cell] >= 0 ? verdicts.verdicts[verdicts.of[cell]].text : '';
}

export function describe(known: Known, cell: number): Description {
  const { fleet, values, verdicts, at } = known;
  const recent = recentOf(known, cell);
  const value = valueText(known, cell);
  const last = value === '' ? recent.filter((sample) => !Number.isNaN(sample.value)).pop() : undefined;
  const reasons = verdicts ? reasonsOf(known, verdicts.source, cell) : reasonsOf(known, values.source, cell);
  return {
    name: nameOf(fleet, cell),
    value: value || undefined,
    metric: values.field && metricName(known, cell),
    last,
    ageMs: ageOf(known, cell, recent, at),
    verdict: verdictText(known, cell) || undefined,
    reasons,
    identity: DIMENSION_NAMES.flatMap((name): Array<[string, string]> => {
      const label = LABELS[name];
      return label && fleet.texts[name][cell] ? [[label, fleet.texts[name][cell]]] : [];
    }),
    recent,
  };
}

function metricName({ values: { field, ofSlices, source } }: Known, cell: number): string {
  const name = source?.kind === 'series' ? field?.name : (field?.config.displayName ?? field?.name);
  return ofSlices[cell] === 1 ? `${name}, the highest of the MIG instances` : String(name);
}

/** A time series brings its past along; of tables the panel keeps what it has seen. */
function recentOf({ frames, values: { source }, recent }: Known, cell: number): Sample[] {
  if (source?.kind !== 'series') {
    return recent.of(cell);
  }
  const found = seriesOf(frames, source, cell);
  if (!found) {
    return [];
  }
  const { times, field } = found;
  const samples = field.values.map((value: unknown, i) => ({
    at: times[i],
    value: typeof value === 'number' ? value : NaN,
  }));
  return samples.slice(-60);
}

function seriesOf(frames: readonly DataFrame[], source: Source, cell: number) {
  const frame = frames[source.frame];
  const field = frame.fields[source.rows[cell]];
  const times: number[] | undefined = frame.fields.find(({ type }) => type === FieldType.time)?.values;
  return field && times ? { field, times } : undefined;
}

function ageOf({ values: { source }, frames }: Known, cell: number, recent: Sample[], now: number): number | undefined {
  const found = source?.kind === 'series' ? seriesOf(frames, source, cell) : undefined;
  const at = found ? found.times[lastIndex(found.field)] : recent.filter(({ value }) => !Number.isNaN(value)).pop()?.at;
  return at === undefined ? undefined : Math.max(0, now - at);
}

function reasonsOf({ frames }: Known, source: Source | undefined, cell: number): Array<[string, string]> {
  const row = source?.kind === 'table' ? source.rows[cell] : -1;
  if (!source || row < 0) {
    return [];
  }
  const { fields } = frames[source.frame];
  return Object.entries(REASONS).flatMap(([name, label]): Array<[string, string]> => {
    const text: unknown = fields.find((field) => field.name === name)?.values[row];
    return typeof text === 'string' && text !== '' ? [[label, text]] : [];
  });
}

/** The links of a cell, from all columns of all its rows, each address once. */
export function linksOf({ frames, fleet }: Pick<Known, 'frames' | 'fleet'>, cell: number): LinkModel[] {
  const links = new Map<string, LinkModel>();
  for (const { frame, kind, rows } of fleet.sources) {
    const row = rows[cell];
    const fields = row < 0 ? [] : kind === 'series' ? [frames[frame].fields[row]] : frames[frame].fields;
    for (const field of fields) {
      const valueRowIndex = kind === 'series' ? Math.max(0, lastIndex(field)) : row;
      const found = isEmpty(field.values[valueRowIndex]) ? [] : (field.getLinks?.({ valueRowIndex }) ?? []);
      found.forEach((link) => links.set(link.href, link));
    }
  }
  return Array.from(links.values());
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === null || value === undefined;
}
