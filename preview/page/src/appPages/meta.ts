import { type AppPluginMeta, type PluginInclude } from '@grafana/data';
import { config } from '@grafana/runtime';

/** Where the host has the module of an app. */
export function moduleOf(id: string): string {
  const { path } = config.apps[id] ?? {};
  if (!path) {
    throw new Error(`The preview was started without the app ${id}, only with ${Object.keys(config.apps).join(', ')}.`);
  }
  return path;
}

/** An app's plugin.json, with what Grafana writes into its includes. */
export async function metaOf(id: string): Promise<AppPluginMeta> {
  const response = await fetch(`/public/plugins/${id}/plugin.json`);
  const meta: AppPluginMeta = JSON.parse((await response.text()).replaceAll('%PLUGIN_ID%', id));
  const uids = new Map(Object.entries(await dashboardUids()));
  const includes = (meta.includes ?? []).map((include): PluginInclude & { uid?: string } => ({
    ...include,
    uid: uids.get(include.name),
  }));
  return { ...meta, enabled: true, module: moduleOf(id), baseUrl: `public/plugins/${id}`, includes };
}

async function dashboardUids(): Promise<Record<string, string>> {
  const response = await fetch('/api/search?type=dash-db');
  const hits: Array<{ title: string; uid: string }> = await response.json();
  return Object.fromEntries(hits.map(({ title, uid }) => [title, uid]));
}
