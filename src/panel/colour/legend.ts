import { type Field, formattedValueToString } from '@grafana/data';

import { type Fleet } from '../fleet/Fleet';
import { type Values } from '../fleet/readValues';
import { type Verdicts } from '../fleet/readVerdicts';
import { type Pixel, SHADES } from './palettes';
import { ABSENT, countSteps, type Scale } from './scale';

/** A colour, what it means, and how many cells have it. */
export interface LegendEntry {
  /** ABSENT for cells without a value. */
  colour: Pixel;
  text: string;
  count: number;
}

const BANDS = 5;

/** The cells that are counted: GPUs, or the MIG instances of those that have some. */
export function countedCells(fleet: Fleet): Uint8Array {
  return Uint8Array.from({ length: fleet.count }, (_, cell) =>
    Number(fleet.sliceStart[cell + 1] === fleet.sliceStart[cell])
  );
}

export function legendOfVerdicts({ verdicts, of }: Verdicts, counted: Uint8Array): LegendEntry[] {
  const counts = new Array<number>(verdicts.length).fill(0);
  let absent = 0;
  of.forEach((at, cell) => {
    if (counted[cell] === 1) {
      absent += Number(at < 0);
      counts[at]++;
    }
  });
  return withAbsent(
    verdicts.map(({ text, colour }, i) => ({ text, colour, count: counts[i] })),
    absent,
    'not judged'
  );
}

export function legendOfValues({ values }: Values, field: Field, scale: Scale, counted: Uint8Array): LegendEntry[] {
  const { bounds, colours } = scale.kind === 'steps' ? scale : bandsOf(scale);
  const { steps, absent } = countSteps(values, bounds, counted);
  const show = (value: number) => (field.display ? formattedValueToString(field.display(value)) : String(value));
  const entries = steps.map((count, i) => ({
    colour: colours[i],
    count,
    text: textOf(bounds, i, scale.kind === 'shades' ? scale.min : undefined, show),
  }));
  return withAbsent(entries, absent, 'no value');
}

function bandsOf({ min, max, shades }: Extract<Scale, { kind: 'shades' }>) {
  const bands = max > min ? BANDS : 1;
  return {
    bounds: Float64Array.from({ length: bands }, (_, i) => (i === 0 ? -Infinity : min + (i / bands) * (max - min))),
    colours: Uint32Array.from({ length: bands }, (_, i) => shades[Math.round(((i + 0.5) / bands) * (SHADES - 1))]),
  };
}

function textOf(bounds: Float64Array, i: number, least: number | undefined, show: (value: number) => string): string {
  if (i > 0) {
    return `≥ ${show(bounds[i])}`;
  }
  if (bounds.length > 1) {
    return `< ${show(bounds[1])}`;
  }
  return least === undefined ? 'any value' : show(least);
}

function withAbsent(entries: LegendEntry[], absent: number, text: string): LegendEntry[] {
  return absent > 0 ? [...entries, { colour: ABSENT, text, count: absent }] : entries;
}
