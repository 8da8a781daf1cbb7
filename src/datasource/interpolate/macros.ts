import { type ScopedVars } from '@grafana/data';

/**
 * Macros that the backend expands, because alert rules never pass through a browser. Grafana would replace those it
 * knows, so each is mapped onto itself.
 */
const BACKEND_MACROS = [
  '__interval',
  '__interval_ms',
  '__range',
  '__range_s',
  '__range_ms',
  '__rate_interval',
  '__gpu_filter',
  '__gpu_identity',
] as const;

/**
 * The same variables, with every macro of the backend left in place. Braces keep it apart from what follows, whichever
 * way it was written.
 */
export function keepingMacros(scopedVars: ScopedVars): ScopedVars {
  const kept: ScopedVars = { ...scopedVars };
  for (const name of BACKEND_MACROS) {
    kept[name] = { text: `\${${name}}`, value: `\${${name}}` };
  }
  return kept;
}
