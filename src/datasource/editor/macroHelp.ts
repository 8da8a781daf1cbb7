/** A macro of PromQL queries and what the backend writes in its place. */
export interface Macro {
  name: string;
  meaning: string;
}

export const MACROS: Macro[] = [
  { name: '$__rate_interval', meaning: 'A range for rate() that always holds enough samples' },
  { name: '$__interval', meaning: 'The step between two points; $__interval_ms in milliseconds' },
  { name: '$__range', meaning: 'The length of the time range; $__range_s and $__range_ms as numbers' },
  { name: '$__gpu_filter', meaning: 'Label matchers of the query’s scope, as in DCGM_FI_DEV_GPU_UTIL{$__gpu_filter}' },
  { name: '$__gpu_identity', meaning: 'The labels that tell GPUs apart, as in max by ($__gpu_identity) (…)' },
];
