import { ruleOf } from '../rules';
import texts from '../testdata/texts.json';
import { durationProblem, milliseconds } from './duration';
import { readFileSd } from './fileSd';
import {
  agentAddressProblem,
  alertmanagerUrlProblem,
  dnsProblem,
  hostPortProblem,
  allowProblem,
  prometheusUrlProblem,
} from './network';
import {
  currencyProblem,
  dialectsProblem,
  headerProblem,
  idProblem,
  labelProblem,
  patternProblem,
  timeProblem,
} from './words';

const CHECKS: Record<keyof typeof texts, (text: string) => string | undefined> = {
  'agents.allow': allowProblem,
  'agents.dns[].name': dnsProblem,
  'agents.files[].content': (text) => readFileSd(text).problem,
  'agents.static[].address': agentAddressProblem,
  'alertmanagers[].url': alertmanagerUrlProblem,
  'cache.remote.addresses': (text) => hostPortProblem(text, 'cache-1:6379'),
  'clusters[].endpoints[].headers': (text) => headerProblem(text),
  'clusters[].endpoints[].id': (text) => idProblem(text),
  'clusters[].endpoints[].replicaLabels': labelProblem,
  'clusters[].endpoints[].timeout': (text) => durationProblem(text, ruleOf('clusters.0.endpoints.0.timeout')),
  'clusters[].endpoints[].url': prometheusUrlProblem,
  dialects: dialectsProblem,
  'insight.budgets[].namespace': patternProblem,
  'insight.currency': currencyProblem,
  'insight.maintenance[].from': timeProblem,
  'insight.places.rack': labelProblem,
};

describe.each(Object.entries(texts))('%s', (key, verdicts) => {
  test.each(Object.entries(verdicts))('%j is taken: %s, as the backend says', (text, taken) => {
    const problem = CHECKS[key as keyof typeof texts](text);
    expect(problem === undefined).toBe(taken);
  });
});

test('durations have Go’s units', () => {
  expect(milliseconds('1h1m1.5s')).toBe(3_661_500);
  expect(milliseconds('1d')).toBeUndefined();
});

test('a file says how many agents it names', () => {
  expect(readFileSd('[{"targets": ["a", "b"]}, {"targets": ["c"]}]')).toEqual({ agents: 3 });
  expect(readFileSd('# lab\n- targets: [a, "b:1"]\n  labels:\n    cluster: lab\n- targets:\n    - c\n')).toEqual({
    agents: 3,
  });
  expect(readFileSd('- targets: *all\n  labels: {x: y}')).toEqual({});
  expect(readFileSd('- {targets: [a]}')).toEqual({});
});

test('credentials are not repeated', () => {
  expect(agentAddressProblem('me:secret@host')).not.toContain('secret');
});
