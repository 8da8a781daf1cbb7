import { type PluginInclude, PluginIncludeType } from '@grafana/data';
import { getBackendSrv } from '@grafana/runtime';
import { lastValueFrom } from 'rxjs';

import { type Answer } from '../../shared/useAnswer';
import { type StepState } from './Step';

/** The type does not tell that Grafana passes on the uid which plugin.json gives a dashboard. */
export type Include = PluginInclude & { uid?: string };

/** A dashboard that comes with the app, and whether this user can open it. */
export interface Bundled {
  uid: string;
  name: string;
  found: boolean;
}

/** Which of the bundled dashboards this Grafana has, as far as the user may see them. */
export async function findDashboards(includes: Include[]): Promise<Bundled[]> {
  const bundled = includes.filter(({ type }) => type === PluginIncludeType.dashboard).flatMap(named);
  const { data: hits } = await lastValueFrom(
    getBackendSrv().fetch<Array<{ uid: string }>>({
      url: '/api/search',
      params: { type: 'dash-db', dashboardUIDs: bundled.map(({ uid }) => uid), limit: bundled.length },
      method: 'GET',
      showErrorAlert: false,
    })
  );
  const there = new Set(hits.map(({ uid }) => uid));
  return bundled.map(({ uid, name }) => ({ uid, name, found: there.has(uid) }));
}

function named({ uid, name }: Include): Array<{ uid: string; name: string }> {
  return uid ? [{ uid, name }] : [];
}

export function dashboardsState({ value, error }: Answer<Bundled[]>): StepState {
  if (error) {
    return 'unknown';
  }
  if (!value) {
    return 'asking';
  }
  if (value.length === 0) {
    return 'unknown';
  }
  const found = value.filter((one) => one.found).length;
  if (found === 0) {
    return 'todo';
  }
  return found === value.length ? 'done' : 'partial';
}
