/** Colours as canvases keep them in memory: a byte each of red, green, blue and opacity, least significant first. */
export type Pixel = number;

/** How many colours a continuous scale has. */
export const SHADES = 256;

// Samples of the maps of matplotlib at even distances; both read the same with every kind of colour blindness, and in grey.
const VIRIDIS = '440154 4828783e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725';
const CIVIDIS = '00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838';

export const PALETTES = { viridis: colours(VIRIDIS), cividis: colours(CIVIDIS) };

export type PaletteName = keyof typeof PALETTES;

function colours(text: string): string[] {
  return (text.match(/[0-9a-f]{6}/g) ?? []).map((hex) => `#${hex}`);
}

/** All shades of a scale between colours at even distances, from the least value's to the greatest's. */
export function shadesBetween(stops: readonly string[]): Uint32Array {
  const pixels = stops.map(pixelOf);
  return Uint32Array.from({ length: SHADES }, (_, i) => {
    const at = (i / (SHADES - 1)) * (pixels.length - 1);
    const below = Math.min(Math.floor(at), pixels.length - 2);
    return pixels.length < 2 ? pixels[0] : blend(pixels[below], pixels[below + 1], at - below);
  });
}

function blend(a: Pixel, b: Pixel, share: number): Pixel {
  let mixed = 0;
  for (let shift = 0; shift < 32; shift += 8) {
    const from = (a >>> shift) & 255;
    mixed |= Math.round(from + (((b >>> shift) & 255) - from) * share) << shift;
  }
  return mixed >>> 0;
}

/** The pixel of "#rrggbb", "#rgb" or "rgb(r, g, b)"; grey for other texts. */
export function pixelOf(colour: string): Pixel {
  const [r, g, b] = channelsOf(colour.trim());
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

function channelsOf(colour: string): number[] {
  const hex = /^#([0-9a-f]{3,8})$/i.exec(colour)?.[1];
  if (hex !== undefined) {
    const digits =
      hex.length < 6 ? Array.from(hex.slice(0, 3), (digit) => digit + digit) : hex.match(/../g)!.slice(0, 3);
    return digits.map((digit) => parseInt(digit, 16));
  }
  const numbers =
    /^rgba?\(([^)]+)\)$/
      .exec(colour)?.[1]
      .split(/[\s,/]+/)
      .map(Number) ?? [];
  return numbers.length >= 3 && numbers.every(Number.isFinite) ? numbers.slice(0, 3) : [128, 128, 128];
}

/** The text of a pixel for styles. */
export function cssOf(pixel: Pixel): string {
  return `#${[0, 8, 16].map((shift) => ((pixel >>> shift) & 255).toString(16).padStart(2, '0')).join('')}`;
}

/** Black or white, whichever is read better on a colour. */
export function inkOn(pixel: Pixel): string {
  return luminanceOf(pixel) > 0.18 ? '#000000' : '#ffffff';
}

/** How light a colour is, from 0 to 1. */
export function luminanceOf(pixel: Pixel): number {
  return 0.2126 * linear(pixel) + 0.7152 * linear(pixel >>> 8) + 0.0722 * linear(pixel >>> 16);
}

function linear(channel: number): number {
  return Math.pow((channel & 255) / 255, 2.2);
}
