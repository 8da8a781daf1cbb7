import { getBackendSrv } from '@grafana/runtime';
import { lastValueFrom } from 'rxjs';

/** What the backend of a data source answers at a path below its resources. */
export async function getResource<T>(
  uid: string,
  path: string,
  params: Record<string, string | string[]> = {}
): Promise<T> {
  const url = `/api/datasources/uid/${encodeURIComponent(uid)}/resources/${path}`;
  const response = await lastValueFrom(getBackendSrv().fetch<T>({ url, params, method: 'GET', showErrorAlert: false }));
  return response.data;
}
