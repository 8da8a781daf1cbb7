import { readdirSync, readFileSync } from 'fs';
import path from 'path';

import { EVENT_KINDS } from './editor/choices';
import { INSIGHT_FIELDS } from './editor/insightFields';
import { isComplete, ofType } from './query';
import { isInsightType, isTableType, QUERY_TYPES } from './queryTypes';
import { type GpuQuery } from './types';

/** The Go sources of a package, without its tests. */
function sources(folder: string): string {
  const at = path.join(__dirname, '..', '..', 'pkg', folder);
  const files = readdirSync(at).filter((file) => file.endsWith('.go') && !file.endsWith('_test.go'));
  return files.map((file) => readFileSync(path.join(at, file), 'utf8')).join('\n');
}

function constants(text: string, prefix: string): string[] {
  return Array.from(text.matchAll(new RegExp(`^\\t${prefix}[A-Z]\\w*\\s*= "(\\w+)"`, 'gm')), ([, value]) => value);
}

test('what is offered is what the backend answers: types that it gains need an entry in queryTypes.ts', () => {
  expect(QUERY_TYPES.map(({ type }) => type).sort()).toEqual(constants(sources('query'), 'Type').sort());
});

test('every kind of event can be chosen', () => {
  expect(EVENT_KINDS.map(({ value }) => value).sort()).toEqual(constants(sources('gpu'), 'Kind').sort());
});

test.each(QUERY_TYPES.map(({ type }) => type))('a query that becomes one of type %s draws at once', (type) => {
  const before: GpuQuery = { refId: 'A', queryType: 'health', options: { least: 'warning' } };
  const after: GpuQuery = { ...before, ...ofType(before, type) };
  expect(isComplete(after)).toBe(type !== 'promql');
  if (type !== 'health') {
    expect(after.options).not.toEqual(before.options);
  }
});

test.each(QUERY_TYPES.map(({ type }) => type))('%s is of one sort only', (type) => {
  expect([isTableType(type), isInsightType(type), type === 'metric' || type === 'promql'].filter(Boolean)).toHaveLength(
    1
  );
});

test('the options that have fields are those that the backend reads', () => {
  const insights = [
    'bottleneck',
    'health',
    'efficiency',
    'forecast',
    'anomaly',
    'stragglers',
    'memory',
    'topology',
  ] as const;
  for (const type of insights) {
    const read = sources('plugin') + sources(`insight/${type}`);
    for (const { key } of INSIGHT_FIELDS[type]) {
      expect(
        `${type}: ${read.includes(`json:"${key}"`) || read.includes(`json:"${key},omitempty"`) ? key : 'none'}`
      ).toBe(`${type}: ${key}`);
    }
  }
});
