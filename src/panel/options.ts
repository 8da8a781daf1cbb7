import { type PaletteName } from './colour/palettes';
import { type Grouping } from './layout/groups';

export const OPTIONS_VERSION = 1;

export interface FleetOptions {
  /** Of these options. */
  version: number;
  colorBy: 'auto' | 'value' | 'verdict';
  /** The column of a table whose numbers colour it; "" for the first. */
  valueField: string;
  /** The column of a table that judges; "" for the one that is known. */
  verdictField: string;
  /** `field`: thresholds or the scheme that the field's options choose. */
  palette: PaletteName | 'field';
  groupBy: Grouping;
  showMig: boolean;
  showLegend: boolean;
  showLabels: boolean;
  /** The side of a cell in pixels; 0 for as large as fits. */
  cellSize: number;
  /** Names of the variables that a selection sets; "" sets none. */
  nodeVariable: string;
  gpuVariable: string;
}

export const DEFAULTS: FleetOptions = {
  version: OPTIONS_VERSION,
  colorBy: 'auto',
  valueField: '',
  verdictField: '',
  palette: 'viridis',
  groupBy: 'auto',
  showMig: true,
  showLegend: true,
  showLabels: true,
  cellSize: 0,
  nodeVariable: 'node',
  gpuVariable: 'gpu',
};
