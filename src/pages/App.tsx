import { type AppRootProps } from '@grafana/data';
import React, { lazy } from 'react';
import { Navigate, Route, Routes } from 'react-router-dom';

import { Lazily } from './Lazily';

const Home = lazy(() => import('./home/Home').then(({ Home: component }) => ({ default: component })));
const Health = lazy(() => import('./health/HealthPage').then(({ HealthPage: component }) => ({ default: component })));
const Runbooks = lazy(() =>
  import('./runbooks/RunbooksPage').then(({ RunbooksPage: component }) => ({ default: component }))
);
const Runbook = lazy(() =>
  import('./runbooks/RunbookPage').then(({ RunbookPage: component }) => ({ default: component }))
);
const Metrics = lazy(() =>
  import('./metrics/MetricsPage').then(({ MetricsPage: component }) => ({ default: component }))
);

const Device = lazy(() => import('./node/DevicePage').then(({ DevicePage: component }) => ({ default: component })));
const Fleet = lazy(() => import('./fleet/FleetPage').then(({ FleetPage: component }) => ({ default: component })));
const Cluster = lazy(() =>
  import('./cluster/ClusterPage').then(({ ClusterPage: component }) => ({ default: component }))
);
const Jobs = lazy(() => import('./jobs/JobsPage').then(({ JobsPage: component }) => ({ default: component })));
const Job = lazy(() => import('./job/JobPage').then(({ JobPage: component }) => ({ default: component })));
const Coverage = lazy(() =>
  import('./coverage/CoveragePage').then(({ CoveragePage: component }) => ({ default: component }))
);

const Setup = lazy(() => import('./setup/SetupPage').then(({ SetupPage: component }) => ({ default: component })));

/** The app's pages. Each is loaded when it is visited. */
export function App({ meta }: AppRootProps) {
  return (
    <Lazily>
      <Routes>
        <Route index element={<Health />} />
        <Route path="fleet" element={<Fleet />} />
        <Route path="fleet/clusters/:cluster" element={<Cluster />} />
        <Route path="fleet/nodes/:cluster/:node" element={<Device />} />
        <Route path="fleet/nodes/:cluster/:node/gpus/:gpu" element={<Device />} />
        <Route path="fleet/nodes/:cluster/:node/gpus/:gpu/mig/:mig" element={<Device />} />
        <Route path="jobs" element={<Jobs />} />
        <Route path="jobs/:cluster/:namespace/:job" element={<Job />} />
        <Route path="coverage" element={<Coverage />} />
        <Route path="runbooks" element={<Runbooks />} />
        <Route path="runbooks/:id" element={<Runbook />} />
        <Route path="metrics" element={<Metrics />} />
        <Route path="metrics/:name" element={<Metrics />} />
        <Route path="setup" element={<Setup includes={meta.includes ?? []} />} />
        <Route path="status" element={<Home includes={meta.includes ?? []} />} />
        <Route path="*" element={<Navigate to="." replace />} />
      </Routes>
    </Lazily>
  );
}
