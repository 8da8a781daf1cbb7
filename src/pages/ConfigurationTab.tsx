import { type AppPluginMeta, type PluginConfigPageProps } from '@grafana/data';
import React, { lazy } from 'react';

import { Lazily } from './Lazily';

const Configuration = lazy(() =>
  import('./configuration/Configuration').then(({ Configuration: component }) => ({ default: component }))
);

/** The tab on the plugin's own page. */
export function ConfigurationTab({ plugin }: PluginConfigPageProps<AppPluginMeta>) {
  return (
    <Lazily>
      <Configuration meta={plugin.meta} />
    </Lazily>
  );
}
