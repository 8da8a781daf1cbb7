import backend from './testdata/backend.json';
import {
  type AgentsPage,
  type AgentState,
  type AgentStatus,
  type Coverage,
  type CoverageRow,
  type LiveContinuation,
  type LiveMode,
  type Metric,
  type Notice,
  type VariableValue,
  type VariableValues,
} from './types';

/** Every member of a type, or every one of several words: the compiler misses none and knows of no other. */
type All<Names extends PropertyKey> = Record<Names, true>;

const agentState: All<AgentState> = {
  connected: true,
  connecting: true,
  idle: true,
  lagging: true,
  refused: true,
  stale: true,
  unreachable: true,
};

const liveMode: All<LiveMode> = { append: true, cells: true, replace: true };

const agentStatus: All<keyof AgentStatus> = {
  address: true,
  clockOffsetMs: true,
  cluster: true,
  devices: true,
  error: true,
  found: true,
  future: true,
  lastSeen: true,
  late: true,
  missed: true,
  node: true,
  periodMs: true,
  reordered: true,
  repeated: true,
  since: true,
  source: true,
  state: true,
  version: true,
};

const agentsPage: All<keyof AgentsPage> = { agents: true, matched: true, notices: true, sources: true, states: true };

const agentSource: All<keyof AgentsPage['sources'][number]> = {
  asking: true,
  at: true,
  error: true,
  found: true,
  name: true,
};

const coverage: All<keyof Coverage> = { notices: true, rows: true };

const coverageRow: All<keyof CoverageRow> = {
  cluster: true,
  covered: true,
  dialect: true,
  enable: true,
  endpoint: true,
  exporters: true,
  family: true,
  help: true,
  metric: true,
  passedOver: true,
  series: true,
  seriesUnit: true,
  status: true,
  subject: true,
  total: true,
  type: true,
  unit: true,
  why: true,
};

const liveContinuation: All<keyof LiveContinuation> = {
  atMs: true,
  data: true,
  mode: true,
  path: true,
  rangeMs: true,
  stepMs: true,
};

const metric: All<keyof Metric> = {
  aggregations: true,
  caveat: true,
  family: true,
  help: true,
  kind: true,
  name: true,
  nvidiaSmi: true,
  subject: true,
  unit: true,
};

const notice: All<keyof Notice> = { severity: true, text: true };
const variableValue: All<keyof VariableValue> = { text: true, value: true };
const variableValues: All<keyof VariableValues> = { notices: true, values: true };

test('types have what the backend sends, and nothing else', () => {
  const known = {
    AgentSource: agentSource,
    AgentState: agentState,
    AgentStatus: agentStatus,
    AgentsPage: agentsPage,
    Coverage: coverage,
    CoverageRow: coverageRow,
    LiveContinuation: liveContinuation,
    LiveMode: liveMode,
    Metric: metric,
    Notice: notice,
    VariableValue: variableValue,
    VariableValues: variableValues,
  };
  const names = Object.fromEntries(Object.entries(known).map(([type, members]) => [type, Object.keys(members).sort()]));
  expect(names).toEqual(backend);
});
