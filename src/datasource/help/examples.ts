import { type GpuQuery } from '../types';

/** A query to start from, with what it answers. */
export interface Example {
  question: string;
  query: Omit<GpuQuery, 'refId'>;
}

export interface ExampleGroup {
  title: string;
  examples: Example[];
}

const metric = (name: string, more: Partial<GpuQuery> = {}): Example['query'] => ({
  schemaVersion: 1,
  queryType: 'metric',
  metric: name,
  ...more,
});

const promql = (expr: string): Example['query'] => ({ schemaVersion: 1, queryType: 'promql', expr });

const ofType = (queryType: GpuQuery['queryType'], more: Partial<GpuQuery> = {}): Example['query'] => ({
  schemaVersion: 1,
  queryType,
  ...more,
});

export const EXAMPLES: ExampleGroup[] = [
  {
    title: 'How are my GPUs?',
    examples: [
      { question: 'What is wrong, the worst first?', query: ofType('health') },
      { question: 'What holds each GPU back?', query: ofType('bottleneck') },
      { question: 'What happened: XID errors, throttling, memory errors?', query: ofType('events') },
      { question: 'When will memory be full?', query: ofType('forecast', { options: { of: 'memory' } }) },
    ],
  },
  {
    title: 'How busy are they?',
    examples: [
      { question: 'How much of each GPU is at work?', query: metric('gpu_sm_active_ratio') },
      {
        question: 'How much power does each node draw?',
        query: metric('gpu_power_watts', { aggregateBy: 'node', aggregation: 'sum' }),
      },
      {
        question: 'Which ten GPUs are the hottest?',
        query: metric('gpu_temperature_celsius', { reduce: { mode: 'topk', k: 10, by: 'max' } }),
      },
      {
        question: 'What became of the GPU-hours, by namespace?',
        query: ofType('efficiency', { options: { by: ['namespace'] } }),
      },
    ],
  },
  {
    title: 'What is there?',
    examples: [
      { question: 'Which GPUs and MIG instances are there, and whose are they?', query: ofType('inventory') },
      { question: 'What runs on them now?', query: ofType('processes') },
      { question: 'Which metrics are measured here, and how do I get the others?', query: ofType('coverage') },
    ],
  },
  {
    title: 'In my own words',
    examples: [
      {
        question: 'A series of dcgm-exporter within the scope',
        query: promql('max by ($__gpu_identity) (DCGM_FI_DEV_GPU_TEMP{$__gpu_filter})'),
      },
      {
        question: 'Errors of PCIe a second',
        query: promql(
          'sum by ($__gpu_identity) (rate(DCGM_FI_DEV_PCIE_REPLAY_COUNTER{$__gpu_filter}[$__rate_interval]))'
        ),
      },
      { question: 'Exporters that do not answer', query: promql('up == 0') },
    ],
  },
];
