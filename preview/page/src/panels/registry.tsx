import { type PanelPlugin, type PanelPluginMeta, PluginType } from '@grafana/data';
import { config } from '@grafana/runtime';

import { importPlugin } from '../services/pluginLoader';
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

/** Loads a panel of the plugin's own, as built. */
async function importOwn(meta: PanelPluginMeta): Promise<PanelPlugin> {
  const { plugin } = await importPlugin(`/${meta.module}`);
  const panel = plugin as PanelPlugin;
  panel.meta = meta;
  return panel;
}

/** Finds the preview's counterpart of a panel of Grafana, or a panel of the plugin's own. */
export async function importPanelPlugin(id: string): Promise<PanelPlugin> {
  const own = config.panels[id];
  if (own) {
    return importOwn(own);
  }
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
