import { type Field, type GrafanaTheme2 } from '@grafana/data';

import { type Known } from '../describe';
import { type Verdicts } from '../fleet/readVerdicts';
import { type FleetOptions } from '../options';
import { countedCells, type LegendEntry, legendOfValues, legendOfVerdicts } from './legend';
import { ABSENT, colourValues, extentOf } from './scale';
import { type Range, rangeOf, scaleOf } from './scaleOf';

/** The colour of every cell, and what the colours mean. */
export interface Coloured {
  colours: Uint32Array;
  legend: LegendEntry[];
  title: string;
  by: 'value' | 'verdict';
}

/** Colours one panel's cells, and remembers the range that it has seen. */
export class Colouring {
  private range: Range | undefined;
  private rangeFor = '';

  colour(known: Known, options: Pick<FleetOptions, 'colorBy' | 'palette'>, theme: GrafanaTheme2): Coloured {
    const verdicts = judged(known, options.colorBy);
    return verdicts ? byVerdict(known, verdicts) : this.byValue(known, options.palette, theme);
  }

  private byValue({ values, fleet }: Known, palette: FleetOptions['palette'], theme: GrafanaTheme2): Coloured {
    const colours = new Uint32Array(fleet.count);
    const { field, source } = values;
    if (!field) {
      return { colours, legend: [], title: '', by: 'value' };
    }
    const scale = scaleOf(field, this.rangeOf(field, values.values), palette, theme);
    colourValues(values.values, scale, colours);
    const title = source?.kind === 'series' ? field.name : titleOf(field);
    return { colours, legend: legendOfValues(values, field, scale, countedCells(fleet)), title, by: 'value' };
  }

  private rangeOf(field: Field, values: Float64Array): Range {
    const measured = `${field.name} ${field.config.unit}`;
    this.range = rangeOf(field, extentOf(values), this.rangeFor === measured ? this.range : undefined);
    this.rangeFor = measured;
    return this.range;
  }
}

/** The verdicts when they are what the cells are coloured by. By itself that is what the first query is about. */
function judged({ values, verdicts }: Known, wanted: FleetOptions['colorBy']): Verdicts | undefined {
  if (!verdicts || wanted === 'value') {
    return values.field ? undefined : verdicts;
  }
  const later = values.source && verdicts.source && values.source.frame < verdicts.source.frame;
  return wanted === 'auto' && later ? undefined : verdicts;
}

function byVerdict({ fleet }: Known, verdicts: Verdicts): Coloured {
  const colours = Uint32Array.from(verdicts.of, (at) => (at < 0 ? ABSENT : verdicts.verdicts[at].colour));
  const legend = legendOfVerdicts(verdicts, countedCells(fleet));
  return { colours, legend, title: verdicts.field ? titleOf(verdicts.field) : '', by: 'verdict' };
}

function titleOf({ config, name }: Field): string {
  return config.displayName ?? name;
}
