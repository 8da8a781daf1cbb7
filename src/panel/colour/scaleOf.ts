import {
  type Field,
  FieldColorModeId,
  fieldColorModeRegistry,
  type GrafanaTheme2,
  ThresholdsMode,
} from '@grafana/data';

import { type FleetOptions } from '../options';
import { PALETTES, pixelOf, SHADES, shadesBetween } from './palettes';
import { type Scale } from './scale';

export interface Range {
  min: number;
  max: number;
}

/** The scale that the panel's options and its field's ask for. */
export function scaleOf(field: Field, range: Range, palette: FleetOptions['palette'], theme: GrafanaTheme2): Scale {
  if (palette !== 'field') {
    return { kind: 'shades', ...range, shades: shadesBetween(PALETTES[palette]) };
  }
  const mode = fieldColorModeRegistry.getIfExists(field.config.color?.mode) ?? fieldColorModeRegistry.get('thresholds');
  if (mode.id === FieldColorModeId.Thresholds) {
    return stepsOf(field, range, theme);
  }
  const colour = mode.getCalculator(field, theme);
  const shades = Uint32Array.from({ length: SHADES }, (_, i) => {
    const share = i / (SHADES - 1);
    return pixelOf(theme.visualization.getColorByName(colour(range.min + share * (range.max - range.min), share)));
  });
  return { kind: 'shades', ...range, shades };
}

function stepsOf({ config }: Field, { min, max }: Range, theme: GrafanaTheme2): Scale {
  const steps = config.thresholds?.steps ?? [];
  const relative = config.thresholds?.mode === ThresholdsMode.Percentage;
  const all = steps.length > 0 ? steps : [{ value: -Infinity, color: 'green' }];
  return {
    kind: 'steps',
    // Stored thresholds have null in place of -Infinity.
    bounds: Float64Array.from(all, ({ value }, i) =>
      i === 0 ? -Infinity : relative ? min + ((value ?? 0) / 100) * (max - min) : (value ?? 0)
    ),
    colours: Uint32Array.from(all, ({ color }) => pixelOf(theme.visualization.getColorByName(color))),
  };
}

const UNIT_RANGES: Record<string, Range> = { percentunit: { min: 0, max: 1 }, percent: { min: 0, max: 100 } };

/**
 * What is shown, from the least to the greatest value: as the field says, else as its unit does, else what there is. What
 * there is only ever grows, so that colours keep their meaning while values move.
 */
export function rangeOf(field: Field, extent: Range | undefined, before: Range | undefined): Range {
  const usual = UNIT_RANGES[field.config.unit ?? ''] ?? grown(extent, before);
  const min = field.config.min ?? usual.min;
  return { min, max: Math.max(min, field.config.max ?? usual.max) };
}

function grown(extent: Range | undefined, before: Range | undefined): Range {
  const known = [extent, before].filter((range) => range !== undefined);
  if (known.length === 0) {
    return { min: 0, max: 1 };
  }
  const min = Math.min(...known.map((range) => range.min));
  // Most measurements begin at 0; one that stays far from it would be one colour.
  const max = Math.max(...known.map((range) => range.max));
  return { min: min > 0 && min < max / 2 ? 0 : min, max };
}
