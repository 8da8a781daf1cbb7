import { type GpuQuery } from '../../datasource/types';
import { type PanelSpec } from '../shared/Panels';
import { type PlaceScope } from './place';

const CHARTS: Array<[title: string, metric: string]> = [
  ['SM active', 'gpu_sm_active_ratio'],
  ['Memory used', 'gpu_memory_used_bytes'],
  ['Power', 'gpu_power_watts'],
  ['Temperature', 'gpu_temperature_celsius'],
];

/** A MIG instance has no power and no temperature of its own. */
const MIG_CHARTS: typeof CHARTS = [
  ['SM active', 'gpu_sm_active_ratio'],
  ['Memory used', 'gpu_memory_used_bytes'],
  ['Tensor cores active', 'gpu_tensor_active_ratio'],
  ['Memory bandwidth', 'gpu_dram_active_ratio'],
];

/** What is drawn of a place: what holds it back over time, and the values that tell most. */
export function panelsOf(scope: PlaceScope): PanelSpec[] {
  const charts = (scope.migs ? MIG_CHARTS : CHARTS).map(([title, metric]): PanelSpec => {
    const query: GpuQuery = { refId: 'A', queryType: 'metric', metric, ...scope };
    return {
      title,
      plugin: 'timeseries',
      query,
      options: { legend: { displayMode: 'hidden', showLegend: false }, tooltip: { mode: 'multi', sort: 'desc' } },
    };
  });
  return [
    {
      title: 'What holds it back',
      description: 'The verdict of each GPU over time. Queries of type bottleneck say why.',
      plugin: 'state-timeline',
      query: { refId: 'A', queryType: 'bottleneck', ...scope, options: { of: 'gpus', show: 'timeline' } },
      options: {
        mergeValues: true,
        showValue: 'auto',
        rowHeight: 0.9,
        legend: { displayMode: 'list', showLegend: true, placement: 'bottom' },
      },
      wide: true,
      height: 320,
    },
    ...charts,
  ];
}
