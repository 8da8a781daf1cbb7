import { type PanelPlugin, PluginType } from '@grafana/data';

import { heatmap, stateTimeline } from './cells';
import { barGauge, gauge, stat } from './singleValue';
import { table } from './table';
import { text } from './text';
import { timeSeries } from './timeSeries';

const panels: Record<string, PanelPlugin<any, any>> = {
  timeseries: timeSeries,
  stat,
  gauge,
  bargauge: barGauge,
  table,
  text,
  heatmap,
  'state-timeline': stateTimeline,
  'status-history': stateTimeline,
};

/** Panels that show no data. */
export const skipsQueries = (id: string) => id === 'text';

/** Finds the preview's counterpart of a panel of Grafana. */
export async function importPanelPlugin(id: string): Promise<PanelPlugin> {
  const plugin = panels[id];
  if (!plugin) {
    throw new Error(`The preview renders no ${id} panels, only ${Object.keys(panels).join(', ')}.`);
  }
  plugin.meta = {
    id,
    name: id,
    type: PluginType.panel,
    module: '',
    baseUrl: '',
    sort: 0,
    skipDataQuery: skipsQueries(id),
    info: {
      author: { name: '' },
      description: '',
      links: [],
      logos: { large: '', small: '' },
      screenshots: [],
      updated: '',
      version: '',
    },
  };
  return plugin;
}
