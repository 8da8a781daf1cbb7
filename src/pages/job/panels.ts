import { type GpuQuery } from '../../datasource/types';
import { type PanelSpec } from '../shared/Panels';
import { type Row, textOf } from '../shared/rows';
import { type JobScope } from './jobScope';

export type DeviceScope = Pick<GpuQuery, 'gpus' | 'migs'>;

interface Chart {
  title: string;
  metric: string;
  aggregation?: GpuQuery['aggregation'];
  aggregateBy?: GpuQuery['aggregateBy'];
  description?: string;
}

/** What training tells of itself. */
const TRAINING: Chart[] = [
  { title: 'Steps a second', metric: 'train_step_total', aggregation: 'max', aggregateBy: 'namespace' },
  { title: 'Tokens a second', metric: 'train_tokens_per_second', aggregation: 'sum', aggregateBy: 'namespace' },
  { title: 'Loss', metric: 'train_loss', aggregation: 'avg', aggregateBy: 'namespace' },
  {
    title: 'Step of each rank',
    metric: 'train_step_seconds',
    description: 'How far the lines are apart is what ranks wait.',
  },
];

/** What servers tell of themselves. */
const SERVING: Chart[] = [
  { title: 'Time to first token, p95', metric: 'serve_ttft_seconds', aggregation: 'p95', aggregateBy: 'pod' },
  { title: 'Tokens a second out', metric: 'serve_generation_tokens_total', aggregation: 'sum', aggregateBy: 'pod' },
  { title: 'Requests that wait', metric: 'serve_requests_waiting', aggregation: 'sum', aggregateBy: 'pod' },
  { title: 'KV cache', metric: 'serve_kv_cache_ratio', aggregation: 'max', aggregateBy: 'pod' },
];

const HARDWARE: Chart[] = [
  { title: 'SM active', metric: 'gpu_sm_active_ratio' },
  { title: 'Power', metric: 'gpu_power_watts' },
  { title: 'Memory used', metric: 'gpu_memory_used_bytes' },
];

/** Panels of those metrics that were measured, out of what training tells. */
export function trainingPanels(scope: JobScope, measured: ReadonlySet<string>): PanelSpec[] {
  return chartsOf(TRAINING, scope).filter(({ query }) => measured.has(query.metric ?? ''));
}

export function servingPanels(scope: JobScope, measured: ReadonlySet<string>): PanelSpec[] {
  return chartsOf(SERVING, scope).filter(({ query }) => measured.has(query.metric ?? ''));
}

/** As many GPUs are drawn; the list has all. */
const MOST_DRAWN = 256;

/** The devices of an inventory, as a scope: metrics of GPUs are not asked for by what runs on them. */
export function scopeOfDevices(inventory: Row[]): DeviceScope {
  const drawn = inventory.slice(0, MOST_DRAWN);
  const gpus = [...new Set(drawn.map((row) => textOf(row, 'gpu_uuid')))];
  const migs = drawn.map((row) => `${textOf(row, 'gpu_uuid')}/${textOf(row, 'mig_id')}`);
  const split = drawn.every((row) => textOf(row, 'mig_id') !== '');
  return { gpus, ...(split && { migs }) };
}

/** What holds the job’s GPUs back over time, and their values. */
export function hardwarePanels(scope: JobScope, devices: DeviceScope): PanelSpec[] {
  return [
    {
      title: 'What holds its GPUs back',
      plugin: 'state-timeline',
      query: { refId: 'A', queryType: 'bottleneck', ...scope, options: { show: 'timeline' } },
      options: {
        mergeValues: true,
        showValue: 'auto',
        rowHeight: 0.9,
        legend: { displayMode: 'list', showLegend: true, placement: 'bottom' },
      },
      wide: true,
      height: 320,
    },
    ...chartsOf(HARDWARE, devices),
  ];
}

/** How many times the median the slowest took. */
export function skewPanel(scope: JobScope): PanelSpec {
  return {
    title: 'Skew',
    description: 'How many times the median of the job its slowest member took; 1 is even.',
    plugin: 'timeseries',
    query: { refId: 'A', queryType: 'stragglers', ...scope, options: { show: 'skew' } },
    options: { legend: { displayMode: 'list', showLegend: true, placement: 'bottom' } },
  };
}

function chartsOf(charts: Chart[], scope: JobScope | DeviceScope): PanelSpec[] {
  return charts.map(({ title, description, ...wanted }) => ({
    title,
    description,
    plugin: 'timeseries',
    query: { refId: 'A', queryType: 'metric', ...scope, ...wanted },
    options: { legend: { displayMode: 'hidden', showLegend: false }, tooltip: { mode: 'multi', sort: 'desc' } },
  }));
}
