import { EventBusSrv } from '@grafana/data';
import {
  config,
  getBackendSrv,
  locationService,
  LocationServiceProvider,
  setAppEvents,
  setBackendSrv,
  setDataSourceSrv,
  setEchoSrv,
  setGrafanaLiveSrv,
  setPluginImportUtils,
  setRunRequest,
  setTemplateSrv,
} from '@grafana/runtime';
import { GlobalStyles, PortalContainer, ThemeContext } from '@grafana/ui';
import { createRoot } from 'react-dom/client';
import { Route, Router, Routes } from 'react-router-dom';
import { useSyncExternalStore } from 'react';

import { AppPage } from './appPages/AppPage';
import { DashboardPage } from './dashboard/DashboardPage';
import { EditorsPage } from './editors/EditorsPage';
import { importPanelPlugin } from './panels/registry';
import { PreviewBackendSrv } from './services/backendSrv';
import { PreviewDataSourceSrv } from './services/dataSourceSrv';
import { PreviewLiveSrv } from './services/liveSrv';
import { registerStandards } from './services/registries';
import { runRequest } from './services/runRequest';
import { PreviewTemplateSrv } from './services/templateSrv';
import { Home, type SearchHit, Shell } from './shell/Shell';

/** Gives @grafana/runtime the services that Grafana would, and renders the page. */
export async function start() {
  registerStandards();
  setAppEvents(new EventBusSrv());
  setEchoSrv({ flush() {}, addBackend() {}, addEvent() {} });
  setBackendSrv(new PreviewBackendSrv());
  setTemplateSrv(new PreviewTemplateSrv());
  setDataSourceSrv(new PreviewDataSourceSrv());
  setGrafanaLiveSrv(new PreviewLiveSrv());
  setRunRequest(runRequest);
  setPluginImportUtils({ importPanelPlugin, getPanelPluginFromCache: () => undefined });

  const dashboards = await getBackendSrv().get<SearchHit[]>('/api/search', { type: 'dash-db' });
  const container = document.getElementById('reactRoot');
  if (!container) {
    throw new Error('The page has no element with the id reactRoot.');
  }
  createRoot(container).render(<App dashboards={dashboards} />);
}

function App({ dashboards }: { dashboards: SearchHit[] }) {
  const history = locationService.getHistory();
  const location = useSyncExternalStore(
    (changed) => history.listen(changed),
    () => history.location
  );
  return (
    <ThemeContext.Provider value={config.theme2}>
      <LocationServiceProvider service={locationService}>
        <GlobalStyles />
        <Router location={location} navigationType={history.action as never} navigator={history as never}>
          <Shell dashboards={dashboards}>
            <Routes>
              <Route path="/d/:uid/*" element={<DashboardPage />} />
              <Route path="/a/:id/*" element={<AppPage />} />
              <Route path="/editors" element={<EditorsPage />} />
              <Route path="*" element={<Home dashboards={dashboards} />} />
            </Routes>
          </Shell>
        </Router>
        <PortalContainer />
      </LocationServiceProvider>
    </ThemeContext.Provider>
  );
}
