import { type BadgeColor } from '@grafana/ui';

import { type AgentState } from '../../datasource/types';

interface StateInfo {
  label: string;
  color: BadgeColor;
  meaning: string;
}

const STATES: Record<AgentState, StateInfo> = {
  connected: { label: 'Connected', color: 'green', meaning: 'Samples arrive' },
  connecting: { label: 'Connecting', color: 'blue', meaning: 'A connection is being made' },
  idle: { label: 'Idle', color: 'blue', meaning: 'Nobody watches this node; it is connected when somebody does' },
  lagging: { label: 'Lagging', color: 'orange', meaning: 'Samples come late, or not all of them' },
  stale: { label: 'Stale', color: 'orange', meaning: 'Connected, but no sample has come for some time' },
  refused: { label: 'Refused', color: 'red', meaning: 'The agent or the allow-list refuses the connection' },
  unreachable: { label: 'Unreachable', color: 'red', meaning: 'No connection can be made' },
};

/** How a state is shown; one that a newer backend invents is shown by its name. */
export function stateInfo(state: string): StateInfo {
  return (STATES as Partial<Record<string, StateInfo>>)[state] ?? { label: state, color: 'purple', meaning: '' };
}

/** The sampling period, in the unit that people use for it. */
export function periodText(periodMs: number): string {
  if (periodMs <= 0) {
    return '–';
  }
  return periodMs < 1000 ? `${periodMs} ms` : `${Number((periodMs / 1000).toFixed(1))} s`;
}

/** How far an agent's clock is from Grafana's; less than a tenth of a second is nothing worth a word. */
export function offsetText(offsetMs: number): string {
  if (Math.abs(offsetMs) < 100) {
    return 'in step';
  }
  return `${(Math.abs(offsetMs) / 1000).toFixed(1)} s ${offsetMs > 0 ? 'ahead' : 'behind'}`;
}
