/** A macro of PromQL queries and what the backend writes in its place. */
export interface Macro {
  name: string;
  meaning: string;
  /** What stands in for it where an expression is only read, of whatever length. */
  standIn: 'duration' | 'number' | 'matcher' | 'label';
}

export const MACROS: Macro[] = [
  {
    name: '$__rate_interval',
    meaning: 'A range for rate() that always holds enough samples',
    standIn: 'duration',
  },
  { name: '$__rate_interval_ms', meaning: 'The same in milliseconds, as a number', standIn: 'number' },
  { name: '$__interval', meaning: 'The step between two points', standIn: 'duration' },
  { name: '$__interval_ms', meaning: 'The step in milliseconds, as a number', standIn: 'number' },
  { name: '$__range', meaning: 'The length of the time range', standIn: 'duration' },
  { name: '$__range_s', meaning: 'The time range in seconds, as a number', standIn: 'number' },
  { name: '$__range_ms', meaning: 'The time range in milliseconds, as a number', standIn: 'number' },
  {
    name: '$__gpu_filter',
    meaning: 'Label matchers of the query’s scope, as in DCGM_FI_DEV_GPU_UTIL{$__gpu_filter}',
    standIn: 'matcher',
  },
  {
    name: '$__gpu_identity',
    meaning: 'The labels that tell GPUs apart, as in max by ($__gpu_identity) (…)',
    standIn: 'label',
  },
];

/** The macro that is written as `$__name` or `${__name}`, with or without a format. */
export function macroOf(written: string): Macro | undefined {
  const name = /^\$\{?(__\w+)/.exec(written)?.[1];
  return MACROS.find((macro) => macro.name === `$${name}`);
}
