import { getBackendSrv, getDataSourceSrv } from '@grafana/runtime';
import { lastValueFrom } from 'rxjs';

import { DATA_SOURCE_ID } from '../../shared/ids';
import { messageOf } from '../../shared/messageOf';
import { type EndpointSettings, type GpuSettings } from '../../datasource/types';
import { type Health, newCheck } from '../home/api';

/** One of our data sources, and what it says of itself or why it says nothing. */
export interface CheckedSource {
  uid: string;
  name: string;
  health?: Health;
  error?: string;
}

/** Asks each data source how it is. One that does not answer keeps none of the others from it. */
export function checkSources(sources: Array<{ uid: string; name: string }>): Promise<CheckedSource[]> {
  return Promise.all(
    sources.map(({ uid, name }) =>
      newCheck(uid)
        .health()
        .then(
          (health): CheckedSource => ({ uid, name, health }),
          (error: unknown): CheckedSource => ({ uid, name, error: messageOf(error) })
        )
    )
  );
}

/** The Prometheus data sources of this Grafana that the user can see. */
export function prometheusSources(): Array<{ uid: string; name: string }> {
  return getDataSourceSrv()
    .getList({ type: 'prometheus' })
    .filter(({ type }) => type === 'prometheus')
    .map(({ uid, name }) => ({ uid, name }));
}

/** What is taken over of a Prometheus data source. */
export interface Template {
  name: string;
  endpoint: Omit<EndpointSettings, 'id'>;
  /** Secrets that it has. Grafana gives them to nobody, so they are to be entered anew. */
  secrets: string[];
}

interface StoredSource {
  name: string;
  url?: string;
  basicAuth?: boolean;
  basicAuthUser?: string;
  jsonData?: Record<string, unknown>;
  secureJsonFields?: Record<string, boolean>;
}

/** Reads where a Prometheus data source points to. Only who may read data sources is told. */
export async function readTemplate(uid: string): Promise<Template> {
  const url = `/api/datasources/uid/${encodeURIComponent(uid)}`;
  const { data } = await lastValueFrom(
    getBackendSrv().fetch<StoredSource>({ url, method: 'GET', showErrorAlert: false })
  );
  return templateOf(data);
}

function templateOf({ name, url = '', basicAuth, basicAuthUser, jsonData = {}, secureJsonFields = {} }: StoredSource) {
  const endpoint: Template['endpoint'] = { url };
  if (basicAuth) {
    Object.assign(endpoint, { auth: 'basic', user: basicAuthUser ?? '' });
  }
  if (jsonData.tlsSkipVerify === true) {
    endpoint.tlsSkipVerify = true;
  }
  if (jsonData.oauthPassThru === true) {
    endpoint.oauthPassThru = true;
  }
  if (typeof jsonData.serverName === 'string' && jsonData.serverName !== '') {
    endpoint.serverName = jsonData.serverName;
  }
  const secrets = Object.entries(secureJsonFields).flatMap(([field, set]) =>
    set ? [secretName(field, jsonData)] : []
  );
  return { name, endpoint, secrets };
}

/** How people call a secret of a data source; of a header that is its name. */
function secretName(field: string, jsonData: Record<string, unknown>): string {
  const header = /^httpHeaderValue(\d+)$/.exec(field);
  if (header) {
    return `the value of the header ${String(jsonData[`httpHeaderName${header[1]}`] ?? header[1])}`;
  }
  const names: Record<string, string> = {
    basicAuthPassword: 'the password',
    tlsCACert: 'the CA certificate',
    tlsClientCert: 'the client certificate',
    tlsClientKey: 'the client key',
  };
  return names[field] ?? field;
}

/** What is confirmed before a data source is made. */
export interface NewSource {
  name: string;
  cluster: string;
  endpoint: Omit<EndpointSettings, 'id'>;
}

/** Makes a data source of one cluster with one Prometheus, without secrets, and gives its uid. */
export async function createSource({ name, cluster, endpoint }: NewSource): Promise<string> {
  const jsonData: GpuSettings = { clusters: [{ name: cluster, endpoints: [{ id: idOf(cluster), ...endpoint }] }] };
  const response = await lastValueFrom(
    getBackendSrv().fetch<{ datasource: { uid: string } }>({
      url: '/api/datasources',
      method: 'POST',
      showErrorAlert: false,
      data: { name, type: DATA_SOURCE_ID, access: 'proxy', jsonData },
    })
  );
  getDataSourceSrv().reload();
  return response.data.datasource.uid;
}

/** A name in the letters that ids and labels are written in. */
export function idOf(name: string): string {
  const id = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return id === '' ? 'prometheus' : id;
}
