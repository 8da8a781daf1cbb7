import { createDataFrame, createTheme, FieldType } from '@grafana/data';

import { cssOf, luminanceOf, PALETTES, pixelOf } from '../colour/palettes';
import { readFleet } from './readFleet';
import { readVerdicts } from './readVerdicts';

const SEVERITIES = ['ok', 'critical', 'unknown', 'warning', 'info'];

function judged(severities: string[]) {
  const frame = createDataFrame({
    fields: [
      { name: 'node', type: FieldType.string, values: severities.map(() => 'n1') },
      { name: 'gpu', type: FieldType.string, values: severities.map((_, i) => String(i)) },
      { name: 'severity', type: FieldType.string, values: severities },
    ],
  });
  return readVerdicts([frame], readFleet([frame]), createTheme())!;
}

/** As WCAG has it: how much lighter each is than the one before. */
function stepsOf(luminances: number[]): number[] {
  const sorted = [...luminances].sort((a, b) => a - b);
  return sorted.slice(1).map((luminance, i) => (luminance + 0.05) / (sorted[i] + 0.05));
}

test('the worst verdict comes first', () => {
  const { verdicts, of } = judged(SEVERITIES);
  expect(verdicts.map(({ text }) => text)).toEqual(['critical', 'warning', 'unknown', 'info', 'ok']);
  expect(Array.from(of)).toEqual([4, 0, 2, 1, 3]);
});

test('verdicts are told apart by lightness alone', () => {
  const { verdicts } = judged(SEVERITIES);
  expect(new Set(verdicts.map(({ colour }) => cssOf(colour))).size).toBe(SEVERITIES.length);
  expect(Math.min(...stepsOf(verdicts.map(({ colour }) => luminanceOf(colour))))).toBeGreaterThan(1.25);
});

test.each(Object.entries(PALETTES))('%s only gets lighter', (_, colours) => {
  const luminances = colours.map((colour) => luminanceOf(pixelOf(colour)));
  expect(luminances).toEqual([...luminances].sort((a, b) => a - b));
});
