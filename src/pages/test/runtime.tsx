import { type NavModelItem } from '@grafana/data';
import React, { type ReactNode } from 'react';
import { of, throwError } from 'rxjs';

import { FakeSource } from './fakeSource';

/** What pages ask of Grafana, as a test sets it. */
export const grafana = {
  sources: [] as Array<{ uid: string; name: string; type: string; isDefault?: boolean }>,
  source: new FakeSource(),
  /** Answers of the backend by the end of the path; an Error is thrown. */
  resources: {} as Record<string, unknown>,
  /** Addresses that were asked for, with their parameters. */
  fetched: [] as Array<{ url: string; params?: unknown }>,
};

export function resetGrafana() {
  grafana.sources = [{ uid: 'gpu', name: 'GPUs', type: 'warpwatch-gpu-datasource' }];
  grafana.source = new FakeSource();
  grafana.resources = { variables: { values: [], notices: [] } };
  grafana.fetched = [];
}

interface PageProps {
  pageNav?: NavModelItem;
  subTitle?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** In place of @grafana/runtime: jest.mock('@grafana/runtime', () => jest.requireActual('<here>').runtime). */
export const runtime = {
  PluginPage: ({ pageNav, actions, children }: PageProps) => (
    <main>
      {pageNav && <h1>{pageNav.text}</h1>}
      {actions}
      {children}
    </main>
  ),
  getDataSourceSrv: () => ({ getList: () => grafana.sources, get: async () => grafana.source }),
  getBackendSrv: () => ({ fetch }),
  isFetchError: () => false,
};

function fetch({ url, params }: { url: string; params?: unknown }) {
  grafana.fetched.push({ url, params });
  const [, found] = Object.entries(grafana.resources).find(([path]) => url.endsWith(path)) ?? [];
  return found === undefined || found instanceof Error
    ? throwError(() => found ?? new Error(`nobody answers ${url}`))
    : of({ data: found });
}
