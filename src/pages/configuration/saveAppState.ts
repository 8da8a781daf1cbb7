import { type AppPluginMeta } from '@grafana/data';
import { getBackendSrv } from '@grafana/runtime';
import { lastValueFrom } from 'rxjs';

/** Enables or disables the app in this organisation; its other settings stay. */
export async function saveAppState(meta: AppPluginMeta, enabled: boolean): Promise<void> {
  await lastValueFrom(
    getBackendSrv().fetch({
      url: `/api/plugins/${meta.id}/settings`,
      method: 'POST',
      showErrorAlert: false,
      data: { enabled, pinned: enabled, jsonData: meta.jsonData },
    })
  );
}
