import { JUDGEMENTS, limitsOf, namesOf, standardOf, stepsOf, subjectsOf, thresholdsOf, withThreshold } from './table';

test('every judgement has limits with defaults', () => {
  expect(JUDGEMENTS).toHaveLength(8);
  for (const judgement of JUDGEMENTS) {
    const names = namesOf(judgement, 'all');
    expect(names).not.toEqual([]);
    names.forEach((name) => expect(standardOf(judgement, name)).toBeDefined());
  }
});

test('only bottleneck knows classes, and only it and health know models', () => {
  expect(subjectsOf('bottleneck')).toEqual(['all', 'class', 'model']);
  expect(subjectsOf('health')).toEqual(['all', 'model']);
  expect(subjectsOf('memory')).toEqual(['all']);
});

test('a threshold goes where the backend reads it, and what it leaves empty goes with it', () => {
  const steps = stepsOf('bottleneck', 'class', 'inference', 'idle');
  const limits = withThreshold({ health: { busy: 0.3 } }, 'bottleneck', steps, 0.1);
  expect(limits).toEqual({ health: { busy: 0.3 }, bottleneck: { classes: { inference: { idle: 0.1 } } } });
  expect(thresholdsOf(limits)).toEqual([
    { judgement: 'health', steps: ['busy'], value: 0.3 },
    { judgement: 'bottleneck', steps, value: 0.1 },
  ]);
  expect(withThreshold(limits, 'bottleneck', steps, undefined)).toEqual({ health: { busy: 0.3 } });
  expect(stepsOf('bottleneck', 'all', '', 'idle')).toEqual(['default', 'idle']);
  expect(stepsOf('health', 'model', 'H100', 'nvlinks')).toEqual(['models', 'H100', 'nvlinks']);
});

test('limits may be stored as the text of their JSON', () => {
  expect(limitsOf('{"health": {"busy": 0.3}}')).toEqual({ health: { busy: 0.3 } });
  expect(limitsOf('')).toEqual({});
  expect(limitsOf(undefined)).toEqual({});
  expect(limitsOf('[')).toBeUndefined();
  expect(limitsOf('[]')).toBeUndefined();
});
