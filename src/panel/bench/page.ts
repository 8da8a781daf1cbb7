import { cssOf, PALETTES, shadesBetween } from '../colour/palettes';
import { colourValues, type Scale } from '../colour/scale';
import { FleetDrawing } from '../draw/FleetDrawing';
import { type Fleet } from '../fleet/Fleet';
import { pack } from '../layout/pack';
import { placeFleet } from '../layout/place';

const WIDTH = 1600;
const HEIGHT = 900;
const GPUS = 100_000;

/** The same values drawn in two ways. Each draws a frame in which every value is another. */
export interface Contest {
  ours(frame: number): void;
  rival(frame: number): void;
  /** Waits until all that was drawn is on the canvas, which a browser puts off. */
  settle(side: 'ours' | 'rival'): void;
}

/** A fleet without names: what is measured does not read them. */
function fleetOf(count: number): Fleet {
  return {
    count,
    texts: {} as Fleet['texts'],
    parent: new Int32Array(count).fill(-1),
    sliceStart: new Int32Array(count + 1),
    slices: new Int32Array(0),
    sources: [],
    index: new Map(),
  };
}

export function newContest(): Contest {
  const fleet = fleetOf(GPUS);
  const groups = [{ name: '', gpus: Array.from({ length: GPUS }, (_, i) => i) }];
  const space = { width: WIDTH, height: HEIGHT, gap: 6, labelHeight: 0, labelWidth: 0, least: 2, most: 96 };
  const places = placeFleet(fleet, groups, pack([GPUS], space), false);
  const look = { hatch: '#888888', text: '#888888', font: '12px sans-serif', density: 1 };
  const drawing = new FleetDrawing(fleet, places, look);
  const scale: Scale = { kind: 'shades', min: 0, max: 1, shades: shadesBetween(PALETTES.viridis) };
  const styles = Array.from(scale.shades, cssOf);
  const colours = new Uint32Array(GPUS);
  const values = new Float64Array(GPUS);
  const [our, their] = [newCanvas(), newCanvas()];
  const context = their.getContext('2d')!;
  const change = (frame: number) => {
    for (let i = 0; i < GPUS; i++) {
      values[i] = ((i * 7919 + frame * 104729) % 1000) / 1000;
    }
  };
  return {
    ours(frame) {
      change(frame);
      colourValues(values, scale, colours);
      drawing.draw(our, 0, colours);
    },
    rival(frame) {
      change(frame);
      const { at, columns, pitch } = places;
      context.clearRect(0, 0, WIDTH, HEIGHT);
      for (let i = 0; i < GPUS; i++) {
        context.fillStyle = styles[Math.round(values[i] * (styles.length - 1))];
        context.fillRect((at[i] % columns) * pitch, Math.floor(at[i] / columns) * pitch, pitch - 1, pitch - 1);
      }
    },
    settle(side) {
      (side === 'ours' ? our : their).getContext('2d')!.getImageData(0, 0, 1, 1);
    },
  };
}

function newCanvas(): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = WIDTH;
  canvas.height = HEIGHT;
  document.body.append(canvas);
  return canvas;
}
