import { type AgentsPage, type Coverage, type CoverageRow } from '../../datasource/types';
import { agentsState, exportersOf } from './exporters';

function row(part: Partial<CoverageRow>): CoverageRow {
  return {
    cluster: 'north',
    endpoint: 'n',
    metric: 'gpu_power_watts',
    family: 'power',
    unit: 'watts',
    subject: 'device',
    status: 'ok',
    covered: 8,
    total: 8,
    exporters: 1,
    dialect: 'dcgm',
    series: 'DCGM_FI_DEV_POWER_USAGE',
    seriesUnit: 'watts',
    why: '',
    passedOver: '',
    enable: '',
    type: '',
    help: '',
    ...part,
  };
}

const coverage = (...rows: CoverageRow[]): Coverage => ({ rows, notices: [] });
const agents = (states: AgentsPage['states']): AgentsPage => ({
  agents: [],
  matched: 0,
  states,
  sources: [],
  notices: [],
});

test('exporters are counted by the metric that most of them have', () => {
  const found = exportersOf(
    coverage(
      row({ exporters: 3, covered: 24 }),
      row({ exporters: 2, covered: 16, series: 'DCGM_FI_DEV_BOARD_POWER_WATTS' }),
      row({ metric: 'gpu_fan_speed_ratio', exporters: 1, covered: 8 }),
      row({ cluster: 'south', dialect: 'warpwatch', exporters: 4, covered: 32 })
    )
  );
  expect(found).toEqual([
    { cluster: 'north', exporter: 'dcgm-exporter', targets: 5, devices: 40, metrics: 2 },
    { cluster: 'south', exporter: 'Warpwatch agent', targets: 4, devices: 32, metrics: 1 },
  ]);
});

test('what is missing, and what is of workloads, is no exporter', () => {
  expect(
    exportersOf(coverage(row({ status: 'missing', exporters: 0 }), row({ subject: 'workload', dialect: 'vllm' })))
  ).toEqual([]);
});

test.each([
  ['both', coverage(row({})), agents({ idle: 2, connected: 1 }), 'done'],
  ['no agent', coverage(row({})), agents({}), 'partial'],
  ['an agent that refuses', coverage(row({})), agents({ idle: 2, refused: 1 }), 'partial'],
  ['agents alone', coverage(), agents({ idle: 2 }), 'partial'],
  ['nothing', coverage(), agents({}), 'todo'],
])('%s', (_, history, live, state) => {
  expect(agentsState({ loading: false, value: history }, { loading: false, value: live })).toBe(state);
});

test('what could not be asked is not known, and nothing is done or to do by it', () => {
  const failed = { loading: false, error: 'refused' };
  expect(agentsState(failed, failed)).toBe('unknown');
  expect(agentsState(failed, { loading: false, value: agents({}) })).toBe('unknown');
  expect(agentsState(failed, { loading: false, value: agents({ idle: 1 }) })).toBe('partial');
  expect(agentsState({ loading: true }, { loading: false, value: agents({}) })).toBe('asking');
});
