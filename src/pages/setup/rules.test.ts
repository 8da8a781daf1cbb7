import groups from './recorded.json';
import { purposeOf, recordedParts, type RecordedRules, ruleFile, rulesState, ruleText } from './rules';

const ALL = groups.flatMap(({ records }) => records);

function recorded(...lists: Array<[cluster: string, names: string[]]>): RecordedRules {
  return { servers: lists.map(([cluster, names], i) => ({ server: `s${i}`, cluster, recorded: names })), notices: [] };
}

const stateOf = (value: RecordedRules) => rulesState({ loading: false, value });

test('every group of recording rules has a purpose', () => {
  expect(groups.filter(({ name }) => !purposeOf(name))).toEqual([]);
});

test('what is not recorded is named with what it costs, cluster by cluster', () => {
  const withoutJobs = ALL.filter((name) => !/_by_job|owner|throttled|clock_event/.test(name));
  const parts = recordedParts(recorded(['north', ALL], ['south', withoutJobs]));
  expect(parts.filter(({ cost }) => cost !== '')).toEqual([
    expect.objectContaining({
      cluster: 'south',
      purpose: 'Jobs and namespaces',
      seen: 0,
      groups: 2,
      missing: 'gpu_rollup_jobs, gpu_rollup_throttled',
    }),
  ]);
});

test('servers of one cluster count together', () => {
  const half = ALL.length / 2;
  expect(stateOf(recorded(['north', ALL.slice(0, half)], ['north', ALL.slice(half)]))).toBe('done');
});

test('one rule of a group is enough: what an exporter does not measure has no series', () => {
  expect(stateOf(recorded(['north', groups.map(({ records }) => records[0])]))).toBe('done');
});

test('states', () => {
  expect(stateOf(recorded(['north', []]))).toBe('todo');
  expect(stateOf(recorded(['north', ALL], ['south', []]))).toBe('partial');
  expect(stateOf(recorded())).toBe('unknown');
  expect(rulesState({ loading: false, error: 'refused' })).toBe('unknown');
  expect(rulesState({ loading: true })).toBe('asking');
});

test('with a server that did not answer not all is done', () => {
  const notices = [{ severity: 'warning' as const, text: 'south: refused' }];
  expect(stateOf({ ...recorded(['north', ALL]), notices })).toBe('partial');
});

test('rules come in the formats that there are of them', async () => {
  expect(await ruleText('recording', 'prometheus')).toContain('record: gpu:power_watts:sum_by_node');
  expect(await ruleText('alerts', 'PrometheusRule')).toContain('kind: PrometheusRule');
  expect(await ruleText('efficiency', 'grafana')).toContain('folder: GPU efficiency');
  expect(await ruleText('recording', 'grafana')).toBeUndefined();
  expect(ruleFile('alerts', 'PrometheusRule')).toBe('warpwatch-alerts.prometheusrule.yaml');
});
