import { cssOf, inkOn, PALETTES, pixelOf, shadesBetween } from './palettes';
import { ABSENT, colourValues, countSteps } from './scale';

test('shades go from the first colour to the last, and absent values have none', () => {
  const into = new Uint32Array(5);
  const shades = shadesBetween(PALETTES.viridis);
  colourValues(Float64Array.from([0, 1, NaN, -5, 9]), { kind: 'shades', min: 0, max: 1, shades }, into);
  expect(cssOf(into[0])).toBe('#440154');
  expect(cssOf(into[1])).toBe('#fde725');
  expect([into[2], into[3], into[4]]).toEqual([ABSENT, into[0], into[1]]);
});

test('thresholds are exact', () => {
  const into = new Uint32Array(4);
  const bounds = Float64Array.from([-Infinity, 0.9]);
  colourValues(
    Float64Array.from([0.9, 0.8999, NaN, -1]),
    { kind: 'steps', bounds, colours: Uint32Array.from([1, 2]) },
    into
  );
  expect(Array.from(into)).toEqual([2, 1, 0, 1]);
  expect(countSteps(Float64Array.from([0.9, 0.1, NaN]), bounds, Uint8Array.from([1, 0, 1]))).toEqual({
    steps: [0, 1],
    absent: 1,
  });
});

test.each([
  ['#fff', '#ffffff'],
  ['rgb(1, 2, 3)', '#010203'],
  ['nonsense', '#808080'],
])('%s is %s', (text, want) => {
  expect(cssOf(pixelOf(text))).toBe(want);
});

test('texts are read on every colour', () => {
  expect([inkOn(pixelOf('#000000')), inkOn(pixelOf('#ffffff'))]).toEqual(['#ffffff', '#000000']);
});
