import { DataSourcePlugin } from '@grafana/data';

import { ConfigEditor } from './config/ConfigEditor';
import { DataSource } from './DataSource';
import { QueryEditor } from './editor/QueryEditor';
import { QueryEditorHelp } from './help/QueryEditorHelp';
import { type GpuQuery, type GpuSecrets, type GpuSettings } from './types';

// Nothing here may be loaded lazily: Grafana looks for a nested plugin's chunks in the wrong folder.
export const plugin = new DataSourcePlugin<DataSource, GpuQuery, GpuSettings, GpuSecrets>(DataSource)
  .setConfigEditor(ConfigEditor)
  .setQueryEditor(QueryEditor)
  .setQueryEditorHelp(QueryEditorHelp);
