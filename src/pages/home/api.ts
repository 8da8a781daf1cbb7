import { getBackendSrv, isFetchError } from '@grafana/runtime';
import { lastValueFrom } from 'rxjs';

import { type AgentStatus } from '../../datasource/types';
import { messageOf } from '../../shared/messageOf';

/** What a data source says of itself. */
export interface Health {
  ok: boolean;
  message: string;
  /** A line for each endpoint and for the agents, with versions and counts. */
  details: string[];
}

interface HealthAnswer {
  status: string;
  message: string;
  details?: { verboseMessage?: string };
}

/** Asks a data source how it is. One that is unwell answers too; only an answer that is none is an error. */
async function fetchHealth(uid: string): Promise<Health> {
  try {
    return toHealth(await get<HealthAnswer>(uid, 'health'));
  } catch (error) {
    if (isFetchError<HealthAnswer>(error) && error.data?.message) {
      return { ...toHealth(error.data), ok: false };
    }
    throw new Error(messageOf(error), { cause: error });
  }
}

/** The agents that a data source knows. */
function fetchAgents(uid: string): Promise<AgentStatus[]> {
  return get<AgentStatus[]>(uid, 'resources/agents');
}

/** Two questions of one check. Each is the same function for as long as the check is. */
export interface Check {
  health: () => Promise<Health>;
  agents: () => Promise<AgentStatus[]>;
}

/** A check of a data source. Its health connects to agents, so these are asked for after it, whatever came of it. */
export function newCheck(uid: string): Check {
  let asked: Promise<Health> | undefined;
  const health = () => (asked ??= fetchHealth(uid));
  const settled = () =>
    health().then(
      () => undefined,
      () => undefined
    );
  return { health, agents: () => settled().then(() => fetchAgents(uid)) };
}

function toHealth({ status, message, details }: HealthAnswer): Health {
  const lines = details?.verboseMessage?.split('\n').map((line) => line.trim()) ?? [];
  return { ok: status === 'OK', message, details: lines.filter((line) => line !== '') };
}

async function get<T>(uid: string, path: string): Promise<T> {
  const url = `/api/datasources/uid/${encodeURIComponent(uid)}/${path}`;
  const response = await lastValueFrom(getBackendSrv().fetch<T>({ url, method: 'GET', showErrorAlert: false }));
  return response.data;
}
