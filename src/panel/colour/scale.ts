import { type Pixel, SHADES } from './palettes';

/** No colour: there is no value. */
export const ABSENT: Pixel = 0;

/** From the least to the greatest value through shades; what lies outside has the colour of the end. */
export interface Shades {
  kind: 'shades';
  min: number;
  max: number;
  shades: Uint32Array;
}

/** A colour from each bound on. The first bound is -Infinity. */
export interface Steps {
  kind: 'steps';
  bounds: Float64Array;
  colours: Uint32Array;
}

export type Scale = Shades | Steps;

/** Colours all values. NaN stands for no value. */
export function colourValues(values: Float64Array, scale: Scale, into: Uint32Array): void {
  if (scale.kind === 'shades') {
    colourByShades(values, scale, into);
  } else {
    colourBySteps(values, scale, into);
  }
}

function colourByShades(values: Float64Array, { min, max, shades }: Shades, into: Uint32Array) {
  const last = SHADES - 1;
  const factor = max > min ? last / (max - min) : 0;
  for (let i = 0; i < values.length; i++) {
    const at = (values[i] - min) * factor + 0.5;
    // NaN fails every comparison.
    into[i] = at >= 0 ? shades[at < last ? at | 0 : last] : at < 0 ? shades[0] : ABSENT;
  }
}

function colourBySteps(values: Float64Array, { bounds, colours }: Steps, into: Uint32Array) {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    into[i] = value === value ? colours[stepOf(value, bounds)] : ABSENT;
  }
}

export function stepOf(value: number, bounds: Float64Array): number {
  let step = bounds.length - 1;
  while (step > 0 && value < bounds[step]) {
    step--;
  }
  return step;
}

/** Bounds of what is shown, where the panel gives none: those of the values, both the same when there is one value only. */
export function extentOf(values: Float64Array): { min: number; max: number } | undefined {
  let min = Infinity;
  let max = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    min = value < min ? value : min;
    max = value > max ? value : max;
  }
  return min <= max ? { min, max } : undefined;
}

/** How many cells have each step, and how many have no value. Cells that are not counted have 0 in `counted`. */
export function countSteps(
  values: Float64Array,
  bounds: Float64Array,
  counted: Uint8Array
): { steps: number[]; absent: number } {
  const steps = new Array<number>(bounds.length).fill(0);
  let absent = 0;
  for (let i = 0; i < values.length; i++) {
    if (counted[i] === 0) {
      continue;
    }
    if (values[i] === values[i]) {
      steps[stepOf(values[i], bounds)]++;
    } else {
      absent++;
    }
  }
  return { steps, absent };
}
