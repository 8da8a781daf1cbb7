import { type DataFrame, type Field, FieldType, type GrafanaTheme2 } from '@grafana/data';

import { type Pixel, pixelOf } from '../colour/palettes';
import { type Fleet, type Source } from './Fleet';

export interface Verdict {
  text: string;
  colour: Pixel;
  /** Worse ones are higher. */
  rank: number;
}

/** What is wrong with each cell. */
export interface Verdicts {
  /** The worst first. */
  verdicts: Verdict[];
  /** Of each cell, its index into verdicts, -1 for none. */
  of: Int16Array;
  field: Field | undefined;
  source: Source | undefined;
}

// No two are equally light, so that they are told apart in grey, too, and with every kind of colour vision.
const SEVERITIES: Record<string, { colour: string; rank: number }> = {
  ok: { colour: '#008f66', rank: 0 },
  present: { colour: '#008f66', rank: 0 },
  info: { colour: '#64b5f6', rank: 2 },
  unknown: { colour: '#b07cc6', rank: 3 },
  warning: { colour: '#ffc233', rank: 4 },
  gone: { colour: '#ffc233', rank: 4 },
  lost: { colour: '#c4162a', rank: 5 },
  critical: { colour: '#c4162a', rank: 5 },
};

// Of Okabe and Ito: told apart with every kind of colour blindness.
const OTHERS = ['#0072b2', '#f0e442', '#999999', '#56b4e9', '#cc79a7', '#e69f00', '#009e73', '#d55e00'];

const CANDIDATES = ['severity', 'verdict', 'state'];

/** So many different texts are told apart; a column with more of them is no verdict. */
const MOST = 64;

/** The column that judges, when a frame has one: one whose texts have colours first. */
export function verdictField(frame: DataFrame, name?: string): Field | undefined {
  const texts = frame.fields.filter(({ type }) => type === FieldType.string);
  if (name) {
    return texts.find((field) => field.name === name);
  }
  const verdict = texts.find((field) => field.name === 'verdict');
  return hasColours(verdict) ? verdict : CANDIDATES.map((wanted) => texts.find((f) => f.name === wanted)).find(Boolean);
}

function hasColours(field: Field | undefined): field is Field {
  return (field?.config.mappings?.length ?? 0) > 0;
}

export function readVerdicts(
  frames: readonly DataFrame[],
  fleet: Fleet,
  theme: GrafanaTheme2,
  name?: string
): Verdicts | undefined {
  for (const source of fleet.sources) {
    const field = verdictField(frames[source.frame], name);
    if (field && source.kind === 'table') {
      return read(field, source, fleet, theme);
    }
  }
  return undefined;
}

function read(field: Field, source: Source, fleet: Fleet, theme: GrafanaTheme2): Verdicts {
  const known = new Map<string, number>();
  const verdicts: Verdict[] = [];
  const of = new Int16Array(fleet.count).fill(-1);
  source.rows.forEach((row, cell) => {
    const text = row < 0 ? '' : shortened(field.values[row]);
    if (text === '') {
      return;
    }
    let at = known.get(text);
    if (at === undefined) {
      at = verdicts.length < MOST ? verdicts.push(describe(text, field, verdicts.length, theme)) - 1 : MOST - 1;
      known.set(text, at);
    }
    of[cell] = at;
  });
  const result = { ...sorted(verdicts, of), field, source };
  fillGpus(fleet, result);
  return result;
}

/** "gone since 12:00" is the verdict "gone". */
function shortened(value: unknown): string {
  return value === null || value === undefined ? '' : String(value).replace(/ since .*$/, '');
}

function describe(text: string, field: Field, at: number, theme: GrafanaTheme2): Verdict {
  const severity = SEVERITIES[text.toLowerCase()];
  if (severity) {
    return { text, colour: pixelOf(severity.colour), rank: severity.rank };
  }
  const shown = hasColours(field) ? field.display?.(text) : undefined;
  const colour = shown?.color ? theme.visualization.getColorByName(shown.color) : OTHERS[at % OTHERS.length];
  return { text: shown?.text ?? text, colour: pixelOf(colour), rank: 1 };
}

function sorted(verdicts: Verdict[], of: Int16Array): Pick<Verdicts, 'verdicts' | 'of'> {
  const order = verdicts.map((_, i) => i).sort((a, b) => verdicts[b].rank - verdicts[a].rank || a - b);
  const place = new Int16Array(verdicts.length);
  order.forEach((from, to) => {
    place[from] = to;
  });
  return { verdicts: order.map((i) => verdicts[i]), of: of.map((at) => (at < 0 ? -1 : place[at])) };
}

/** A GPU that nobody judges has the worst verdict of its MIG instances. */
function fillGpus(fleet: Fleet, { of }: Verdicts) {
  const judged = of.slice();
  fleet.parent.forEach((gpu, cell) => {
    if (gpu >= 0 && judged[gpu] < 0 && of[cell] >= 0) {
      of[gpu] = of[gpu] < 0 ? of[cell] : Math.min(of[gpu], of[cell]);
    }
  });
}
