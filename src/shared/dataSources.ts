import { type DataSourceInstanceSettings } from '@grafana/data';
import { getDataSourceSrv } from '@grafana/runtime';

import { DATA_SOURCE_ID } from './ids';

/** The page on which a new data source of ours is named and created. */
export const NEW_DATA_SOURCE_PATH = '/connections/datasources/warpwatch-gpu-datasource';

/** The data sources of our type that this user can see. */
export function ourDataSources(): DataSourceInstanceSettings[] {
  // The list ends with Grafana's own built-in ones, whatever the type.
  return getDataSourceSrv()
    .getList({ type: DATA_SOURCE_ID })
    .filter(({ type }) => type === DATA_SOURCE_ID);
}

/** The settings page of a data source. */
export function settingsPath(uid: string): string {
  return `/connections/datasources/edit/${encodeURIComponent(uid)}`;
}
