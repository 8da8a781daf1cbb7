import { type DataFrame, type QueryResultMetaNotice } from '@grafana/data';

/** Why a stream delivers nothing, and what to do about it. */
export interface Trouble {
  text: string;
}

const CHECK_SOCKET =
  'Check that every proxy passes WebSockets on /api/live/ws, and Grafana’s [live] allowed_origins, max_connections and root_url.';

/** The browser holds no WebSocket to Grafana. */
export function disconnected(pollMs: number): Trouble {
  return { text: `Live updates are off: the browser has no WebSocket to Grafana. ${CHECK_SOCKET} ${polling(pollMs)}` };
}

/** Grafana has Live turned off. */
export function liveDisabled(): Trouble {
  return {
    text: 'Live updates are off in this Grafana ([live] max_connections = 0). The panel changes when the dashboard refreshes.',
  };
}

/** Grafana or the data source refused or ended the channel. */
export function channelFailed(message: string, pollMs: number): Trouble {
  return { text: `Live updates stopped: ${withStop(message)} ${polling(pollMs)}` };
}

/** Grafana said nothing to the subscription: it dropped it, or a proxy holds the WebSocket and passes nothing. */
export function unanswered(afterMs: number, pollMs: number): Trouble {
  return {
    text: `Live updates did not begin: Grafana has not answered the subscription within ${seconds(afterMs)}. ${CHECK_SOCKET} ${polling(pollMs)}`,
  };
}

/** The data source has no place for one more stream. */
export function refused(why: string, pollMs: number): Trouble {
  return { text: `Live updates wait: ${withStop(why)} ${polling(pollMs)}` };
}

/** Connected, and nothing comes. */
export function silent(sinceMs: number, pollMs: number): Trouble {
  return {
    text: `No live sample for ${seconds(sinceMs)}: see the state of the agents on Warpwatch’s home page. ${polling(pollMs)}`,
  };
}

/** An answer asked for in place of the stream failed. */
export function refreshFailed(message: string): Trouble {
  return { text: `The panel shows an earlier answer, for a newer one failed: ${withStop(message)}` };
}

/** The frame with a warning on top of the notices that it has. */
export function withTrouble(frame: DataFrame, trouble: Trouble): DataFrame {
  const notice: QueryResultMetaNotice = { severity: 'warning', text: trouble.text };
  return { ...frame, meta: { ...frame.meta, notices: [...(frame.meta?.notices ?? []), notice] } };
}

function polling(pollMs: number): string {
  return `Meanwhile the panel asks again every ${seconds(pollMs)}.`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

function withStop(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
