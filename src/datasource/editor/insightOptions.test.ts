import { INSIGHT_FIELDS } from './insightFields';
import { isShown, restAsText, restProblem, withOption, withRest } from './insightOptions';

test('an option that says nothing is left out', () => {
  expect(withOption({ of: 'gpus' }, 'show', 'timeline')).toEqual({ of: 'gpus', show: 'timeline' });
  expect(withOption({ of: 'gpus' }, 'of', '')).toBeUndefined();
  expect(withOption({ by: ['node'], series: true }, 'by', [])).toEqual({ series: true });
  expect(withOption({ series: true }, 'series', false)).toBeUndefined();
  expect(withOption(undefined, 'hours', 0)).toEqual({ hours: 0 });
});

test('the text holds what has no field, and changes nothing else', () => {
  const fields = INSIGHT_FIELDS.bottleneck;
  const options = { of: 'gpus', limits: { default: { idle: 0.03 } } };
  const text = restAsText(fields, options);
  expect(JSON.parse(text)).toEqual({ limits: options.limits });
  expect(withRest(fields, options, '')).toEqual({ of: 'gpus' });
  expect(withRest(fields, options, '{"limits": {"default": {"idle": 0.1}}}')).toEqual({
    of: 'gpus',
    limits: { default: { idle: 0.1 } },
  });
  expect(restAsText(fields, { of: 'gpus' })).toBe('');
  expect(withRest(fields, undefined, ' ')).toBeUndefined();
});

test.each([
  ['', undefined],
  ['{"limits": {}}', undefined],
  ['[1]', /Write an object in JSON/],
  ['{', /Write an object in JSON/],
  [`{"a": "${'x'.repeat(17_000)}"}`, /too long/],
])('%.20s is judged', (text, problem) => {
  if (problem) {
    expect(restProblem(text)).toMatch(problem);
  } else {
    expect(restProblem(text)).toBeUndefined();
  }
});

test('fields of rules show in rules, and others when what they belong to is chosen', () => {
  const verdict = INSIGHT_FIELDS.bottleneck.find(({ key }) => key === 'verdict')!;
  expect(isShown(verdict, {}, false)).toBe(false);
  expect(isShown(verdict, {}, true)).toBe(true);
  expect(isShown(verdict, { verdict: 'idle' }, false)).toBe(true);
  const metric = INSIGHT_FIELDS.forecast.find(({ key }) => key === 'metric')!;
  expect(isShown(metric, { of: 'memory' }, false)).toBe(false);
  expect(isShown(metric, { of: 'metric' }, false)).toBe(true);
});
