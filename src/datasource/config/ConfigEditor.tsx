import { type DataSourcePluginOptionsEditorProps } from '@grafana/data';
import { DataSourceDescription } from '@grafana/plugin-ui';
import { Alert, Divider } from '@grafana/ui';
import React from 'react';

import { type GpuSecrets, type GpuSettings } from '../types';
import { AgentsSection } from './AgentsSection';
import { ClustersSection } from './ClustersSection';
import { QueryingSection } from './QueryingSection';

export type Props = DataSourcePluginOptionsEditorProps<GpuSettings, GpuSecrets>;

/** The settings page of a data source. */
export function ConfigEditor({ options, onOptionsChange }: Props) {
  const shared = { options, onOptionsChange };
  return (
    <>
      <DataSourceDescription
        dataSourceName="Warpwatch GPU"
        docsLink="https://github.com/warpwatch/warpwatch#readme"
        hasRequiredFields
      />
      {options.readOnly && (
        <Alert severity="info" title="Provisioned">
          This data source comes from a provisioning file. Change it there.
        </Alert>
      )}
      <Divider />
      <ClustersSection {...shared} />
      <Divider />
      <AgentsSection {...shared} />
      <Divider />
      <QueryingSection {...shared} />
    </>
  );
}
