import {
  type DataSourceApi,
  type DataSourceInstanceSettings,
  DataSourcePlugin,
  type DataSourceRef,
  type ScopedVars,
} from '@grafana/data';
import { config, type DataSourceSrv, type GetDataSourceListFilters, getTemplateSrv } from '@grafana/runtime';

import { importPlugin } from './pluginLoader';

type Ref = DataSourceRef | string | null | undefined;

/** The provisioned data sources, each an instance of the plugin's own class, made when it is first asked for. */
export class PreviewDataSourceSrv implements DataSourceSrv {
  private readonly instances = new Map<string, Promise<DataSourceApi>>();

  getList({ pluginId, type, filter }: GetDataSourceListFilters = {}): DataSourceInstanceSettings[] {
    const types = [pluginId, type].flat().filter(Boolean);
    return Object.values(config.datasources).filter(
      (settings) => (types.length === 0 || types.includes(settings.type)) && (!filter || filter(settings))
    );
  }

  /** Finds a data source by uid or name, which may be a variable such as ${datasource}; nothing, or "default", means the default. */
  getInstanceSettings(ref: Ref, scopedVars?: ScopedVars): DataSourceInstanceSettings | undefined {
    const given = typeof ref === 'string' ? ref : ref?.uid;
    const wanted = given && getTemplateSrv().replace(given, scopedVars);
    if (!wanted || wanted === 'default') {
      return config.datasources[config.defaultDatasource];
    }
    const settings = this.getList().find(({ uid, name }) => uid === wanted || name === wanted);
    return settings && given !== wanted
      ? { ...settings, rawRef: { type: settings.type, uid: settings.uid } }
      : settings;
  }

  async get(ref?: Ref, scopedVars?: ScopedVars): Promise<DataSourceApi> {
    const settings = this.getInstanceSettings(ref, scopedVars);
    if (!settings) {
      throw new Error(
        `Data source ${JSON.stringify(ref)} was not found: the preview knows ${Object.keys(config.datasources).join(', ')}.`
      );
    }
    let instance = this.instances.get(settings.uid);
    if (!instance) {
      instance = create(settings);
      this.instances.set(settings.uid, instance);
    }
    return instance;
  }

  reload() {
    this.instances.clear();
  }

  registerRuntimeDataSource() {
    throw new Error('The preview has no runtime data sources.');
  }
}

/** Loads the plugin of a data source. */
export async function loadDataSourcePlugin(
  settings: DataSourceInstanceSettings
): Promise<DataSourcePlugin<DataSourceApi>> {
  const { plugin } = await importPlugin(settings.meta.module);
  if (!(plugin instanceof DataSourcePlugin)) {
    throw new Error(`${settings.meta.module} exports no DataSourcePlugin.`);
  }
  plugin.meta = settings.meta;
  return plugin;
}

async function create(settings: DataSourceInstanceSettings): Promise<DataSourceApi> {
  const plugin = await loadDataSourcePlugin(settings);
  const instance = new plugin.DataSourceClass(settings);
  instance.components = plugin.components;
  return Object.assign(instance, { meta: instance.meta ?? settings.meta });
}
