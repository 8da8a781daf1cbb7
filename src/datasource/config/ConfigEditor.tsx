import { type DataSourcePluginOptionsEditorProps } from '@grafana/data';
import { Alert, Divider } from '@grafana/ui';
import React from 'react';

import { type GpuSecrets, type GpuSettings } from '../types';
import { FormProvider } from './form/Form';
import { AgentsSection } from './sections/AgentsSection';
import { AlertmanagersSection } from './sections/AlertmanagersSection';
import { CacheSection } from './sections/CacheSection';
import { ClustersSection } from './sections/ClustersSection';
import { DefaultsSection } from './sections/DefaultsSection';
import { InsightSection } from './sections/InsightSection';
import { LiveSection } from './sections/LiveSection';
import { QueriesSection } from './sections/QueriesSection';
import { StatusSection } from './status/StatusSection';

export type Props = DataSourcePluginOptionsEditorProps<GpuSettings, GpuSecrets>;

/** In the order in which they matter: only the first is needed, and open. */
const SECTIONS = [
  ClustersSection,
  AgentsSection,
  DefaultsSection,
  QueriesSection,
  InsightSection,
  AlertmanagersSection,
  CacheSection,
  LiveSection,
];

/** The settings page of a data source. */
export function ConfigEditor({ options, onOptionsChange }: Props) {
  return (
    <FormProvider options={options} onOptionsChange={onOptionsChange}>
      {options.readOnly && (
        <Alert severity="info" title="Provisioned">
          This data source comes from a provisioning file. Change it there.
        </Alert>
      )}
      {SECTIONS.map((Section, index) => (
        <React.Fragment key={index}>
          {index > 0 && <Divider />}
          <Section />
        </React.Fragment>
      ))}
      <StatusSection />
    </FormProvider>
  );
}
