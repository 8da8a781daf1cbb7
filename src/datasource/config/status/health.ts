import { getBackendSrv, isFetchError } from '@grafana/runtime';
import { lastValueFrom } from 'rxjs';

import { type AgentStatus } from '../../types';

/** What the check found out about one server. */
export interface ServerHealth {
  id: string;
  cluster: string;
  replica: boolean;
  /** Prometheus, Mimir, Thanos, … */
  flavour: string;
  version: string;
  latencyMs: number;
  /** Whose series it has. */
  exporters: string[];
  /** What is missing, and what to do about it. */
  next: string[];
  error: string;
}

/** What came of trying some of the agents. */
export interface AgentsHealth {
  known: number;
  connected: number;
  gpus: number;
  tried: AgentStatus[];
  notes: string[];
}

/** The answer of the data source's check. Details are absent where the plugin itself could not be asked. */
export interface Health {
  status: string;
  message: string;
  details?: {
    verboseMessage?: string;
    servers?: ServerHealth[] | null;
    agents?: AgentsHealth;
    alertmanagers?: string[] | null;
    unknown?: string[] | null;
  };
}

/** Checks the data source as it is saved. What is found wrong is an answer, too. */
export async function checkHealth(uid: string): Promise<Health> {
  const url = `/api/datasources/uid/${encodeURIComponent(uid)}/health`;
  try {
    const response = await lastValueFrom(getBackendSrv().fetch<Health>({ url, method: 'GET', showErrorAlert: false }));
    return response.data;
  } catch (error) {
    if (isFetchError<Health>(error) && error.data?.details) {
      return error.data;
    }
    throw error;
  }
}
