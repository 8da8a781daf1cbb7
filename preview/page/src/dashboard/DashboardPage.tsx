import { UrlSyncContextProvider } from '@grafana/scenes';
import { Alert, LoadingPlaceholder } from '@grafana/ui';
import { useEffect } from 'react';
import { useParams } from 'react-router-dom';
import { useAsync } from 'react-use';

import { getBackendSrv } from '@grafana/runtime';

import { type Dashboard } from './model';
import { toScene } from './toScene';

/** One dashboard, rendered from its JSON. */
export function DashboardPage() {
  const { uid = '' } = useParams();
  const { value, error, loading } = useAsync(async () => {
    const { dashboard } = await getBackendSrv().get<{ dashboard: Dashboard }>(
      `/api/dashboards/uid/${encodeURIComponent(uid)}`
    );
    return { dashboard, scene: toScene(dashboard) };
  }, [uid]);
  useEffect(() => {
    document.title = `${value?.dashboard.title ?? 'Dashboard'} - Warpwatch preview`;
  }, [value]);

  if (error) {
    return <Alert title={`The dashboard ${uid} could not be shown`}>{messageOf(error)}</Alert>;
  }
  if (loading || !value) {
    return <LoadingPlaceholder text="Loading the dashboard…" />;
  }
  return (
    <UrlSyncContextProvider scene={value.scene} updateUrlOnInit createBrowserHistorySteps>
      <value.scene.Component model={value.scene} />
    </UrlSyncContextProvider>
  );
}

/** The text of an error, or of a refused request. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) {
    return error.message;
  }
  const { data } = error as { data?: { message?: string } };
  return data?.message ?? JSON.stringify(error);
}
