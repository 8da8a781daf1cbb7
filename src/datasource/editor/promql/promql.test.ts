import { CompletionContext } from '@codemirror/autocomplete';
import { EditorState } from '@codemirror/state';
import { LanguageType, promQLLanguage } from '@prometheus-io/codemirror-promql';

import { Completing } from './complete';
import { MACROS } from './macros';
import { problemsIn } from './problems';
import { ResourceClient } from './ResourceClient';
import { withStandIns } from './standIns';

describe('stand-ins', () => {
  test.each(MACROS.map(({ name }) => name))('%s keeps its length, in both forms', (name) => {
    for (const written of [name, name.replace('$', '${') + '}']) {
      expect(withStandIns(written)).toHaveLength(written.length);
      expect(withStandIns(written)).not.toContain('$');
    }
  });

  test('leave strings and comments alone, and give up where a variable may be anything', () => {
    expect(withStandIns('x{node="$node"} # $__nothing')).toBe('x{node="$node"} # $__nothing');
    expect(withStandIns('topk($k, x)')).toBeUndefined();
    expect(withStandIns('x[[[interval]]]')).toBeUndefined();
  });
});

describe('problems', () => {
  test.each([
    'max by ($__gpu_identity) (DCGM_FI_DEV_GPU_UTIL{$__gpu_filter})',
    'rate(x{a="b",${__gpu_filter}}[$__rate_interval])',
    'increase(x[$__range:$__interval]) / $__range_s',
    'x * ${__interval_ms} + $__rate_interval_ms',
    'x{node=~"$node"}',
    'topk($k, sum by ($by) (x))',
    'up # a $__comment',
    '',
  ])('none in %s', (expression) => {
    expect(problemsIn(expression)).toEqual([]);
  });

  test('stand at their place in the text, behind macros too', () => {
    const expression = 'rate(x{$__gpu_filter}[$__rate_interval]) + rate(y)';
    const [problem] = problemsIn(expression);
    expect(expression.slice(problem.from, problem.to)).toContain('y');
    expect(problem.message).toMatch(/expected type/);
  });

  test.each(['sum by (', 'x{node=gpu}', '&& x', 'nothing(x)'])('are found in %s', (expression) => {
    expect(problemsIn(expression).length).toBeGreaterThan(0);
  });
});

const ROW = { dialect: 'dcgm', series: 'DCGM_FI_DEV_GPU_TEMP', type: 'gauge', help: 'GPU temperature' };

function resources() {
  return {
    coverage: jest.fn().mockResolvedValue({ rows: [ROW] }),
    getTagValues: jest.fn().mockResolvedValue([{ text: 'gpu-01', value: 'gpu-01' }]),
  };
}

async function complete(text: string, from = resources()) {
  const at = text.indexOf('|');
  const state = EditorState.create({
    doc: text.replace('|', ''),
    extensions: promQLLanguage(LanguageType.PromQL),
  });
  const completing = new Completing(new ResourceClient(from), () => ['$node']);
  const result = await completing.promQL(new CompletionContext(state, at, true));
  return result?.options.map(({ label }) => label) ?? [];
}

describe('completion', () => {
  test('offers macros and variables after a dollar', async () => {
    expect(await complete('rate(x[$__|')).toEqual(expect.arrayContaining(['$__rate_interval', '$node']));
  });

  test('offers the series that there are, and functions', async () => {
    expect(await complete('D|')).toEqual(expect.arrayContaining(['DCGM_FI_DEV_GPU_TEMP', 'rate']));
  });

  test('offers the labels of the series’ exporter and the values of those that name something', async () => {
    expect(await complete('DCGM_FI_DEV_GPU_TEMP{|}')).toEqual(expect.arrayContaining(['Hostname', 'GPU_I_ID']));
    expect(await complete('DCGM_FI_DEV_GPU_TEMP{Hostname="|"}')).toEqual(['gpu-01']);
  });

  test('still offers functions and labels when the resources fail, and asks again later', async () => {
    const failing = {
      coverage: jest.fn().mockRejectedValue(new Error('502')),
      getTagValues: jest.fn().mockRejectedValue(new Error('502')),
    };
    expect(await complete('ra|', failing)).toContain('rate');
    expect(await complete('x{node="|"}', failing)).toEqual([]);
    const client = new ResourceClient(failing);
    expect(await client.metricNames()).toEqual([]);
    failing.coverage.mockResolvedValue({ rows: [ROW] });
    expect(await client.metricNames()).toEqual(['DCGM_FI_DEV_GPU_TEMP']);
    expect(await client.labelNames('unknown')).toContain('node');
  });
});
