import { DEFAULTS, type FleetOptions, OPTIONS_VERSION } from './options';

const VALUES: { [K in keyof FleetOptions]?: ReadonlyArray<FleetOptions[K]> } = {
  colorBy: ['auto', 'value', 'verdict'],
  palette: ['viridis', 'cividis', 'field'],
  groupBy: ['auto', 'none', 'cluster', 'rack', 'node', 'model', 'job'],
};

/**
 * Options as a dashboard stores them, made valid: what is missing or means nothing has its default, so that a panel that
 * was written by hand or by a newer version still draws.
 */
export function migrateOptions(stored: Partial<Record<keyof FleetOptions, unknown>> | undefined): FleetOptions {
  const options: FleetOptions = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS) as Array<keyof FleetOptions>) {
    take(options, key, stored?.[key]);
  }
  return { ...options, version: OPTIONS_VERSION, cellSize: Math.max(0, Math.min(200, options.cellSize)) };
}

function take<K extends keyof FleetOptions>(options: FleetOptions, key: K, value: unknown) {
  const allowed: readonly unknown[] | undefined = VALUES[key];
  const fits = typeof value === typeof DEFAULTS[key] && value === value && (!allowed || allowed.includes(value));
  if (fits) {
    options[key] = value as FleetOptions[K];
  }
}
