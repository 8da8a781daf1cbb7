import { type Fleet } from '../fleet/Fleet';
import { type Places } from '../layout/place';
import { SPLIT_COLUMNS, SPLIT_ROWS } from '../layout/slices';
import { inkOn } from '../colour/palettes';
import { Bitmap, contextOf } from './Bitmap';
import { paintGpus, paintSlices } from './paint';

/** From this side on cells have a gap between them. */
const GAP_SIDE = 5;

/** From this side on, in pixels of the page, a text fits into a cell. */
const TEXT_SIDE = 44;

export interface Look {
  /** Of the hatching of cells without a value. */
  hatch: string;
  /** Of groups' names. */
  text: string;
  font: string;
  /** Pixels of the screen for one of the page. */
  density: number;
}

/**
 * Draws a fleet: one pixel for each cell on a small bitmap, which is then scaled up. Cells without a value are transparent
 * and let the hatching below them be seen, which is drawn anew only when the layout or the part in view changes.
 */
export class FleetDrawing {
  private readonly gpus: Bitmap;
  private readonly split: Bitmap | undefined;
  private readonly below: HTMLCanvasElement;
  private readonly above: HTMLCanvasElement;
  private readonly gaps: CanvasPattern | null;
  private stillFor = '';

  constructor(
    private readonly fleet: Fleet,
    private readonly places: Places,
    private readonly look: Look
  ) {
    const { columns, rows, slices, pitch } = places;
    this.gpus = new Bitmap(columns, Math.max(1, rows));
    this.split = slices.split.length > 0 ? new Bitmap(columns * SPLIT_COLUMNS, rows * SPLIT_ROWS) : undefined;
    this.below = document.createElement('canvas');
    this.above = document.createElement('canvas');
    this.gaps = pitch >= GAP_SIDE ? gapPattern(pitch, look.density) : null;
  }

  /**
   * Draws the part of the map that begins so many pixels below its top. `textOf` says what stands in a cell that is large
   * enough.
   */
  draw(canvas: HTMLCanvasElement, top: number, colours: Uint32Array, textOf?: (cell: number) => string): void {
    const complete = this.paint(colours, top, canvas.height);
    this.drawStill(canvas, top);
    const context = contextOf(canvas);
    // What is drawn first replaces all that was there, which is cheaper than clearing.
    context.globalCompositeOperation = 'copy';
    if (!complete) {
      context.drawImage(this.below, 0, 0);
      context.globalCompositeOperation = 'source-over';
    }
    stamp(context, this.places, top, this.bitmaps());
    this.cutGaps(context, top);
    if (this.labelled()) {
      context.drawImage(this.above, 0, 0);
    }
    if (textOf && this.places.pitch >= TEXT_SIDE * this.look.density) {
      this.drawTexts(context, top, colours, textOf);
    }
  }

  private bitmaps(): Bitmap[] {
    return this.split ? [this.gpus, this.split] : [this.gpus];
  }

  private labelled(): boolean {
    return this.places.blocks.some(({ header }) => header > 0);
  }

  /** Reports whether all cells have a colour. */
  private paint(colours: Uint32Array, top: number, height: number): boolean {
    const { pitch, rows } = this.places;
    const from = Math.max(0, Math.floor(top / pitch));
    const to = Math.min(rows, Math.ceil((top + height) / pitch));
    const complete = paintGpus(this.places, colours, this.gpus.pixels);
    this.gpus.flush(from, to);
    if (this.split) {
      paintSlices(this.fleet, this.places, colours, this.split.pixels);
      this.split.flush(from * SPLIT_ROWS, to * SPLIT_ROWS);
    }
    return complete;
  }

  /** What does not change with the values: the hatching, where cells are, and the groups' names. */
  private drawStill({ width, height }: HTMLCanvasElement, top: number) {
    const wanted = `${width} ${height} ${top}`;
    if (this.stillFor === wanted) {
      return;
    }
    this.stillFor = wanted;
    for (const canvas of [this.below, this.above]) {
      canvas.width = width;
      canvas.height = height;
    }
    // Cells are stamped in one colour, and what is opaque is filled with the pattern.
    const context = contextOf(this.below);
    stamp(context, this.places, top, mask(this.fleet, this.places));
    const hatching = hatchPattern(this.look);
    if (hatching) {
      context.globalCompositeOperation = 'source-in';
      context.fillStyle = hatching;
      context.fillRect(0, 0, width, height);
    }
    this.drawLabels(contextOf(this.above), top);
  }

  private cutGaps(context: CanvasRenderingContext2D, top: number) {
    if (!this.gaps) {
      return;
    }
    const { pitch } = this.places;
    const { width, height } = context.canvas;
    context.save();
    context.globalCompositeOperation = 'destination-out';
    context.fillStyle = this.gaps;
    context.translate(0, -(top % pitch));
    context.fillRect(0, 0, width, height + pitch);
    context.restore();
  }

  private drawLabels(context: CanvasRenderingContext2D, top: number) {
    const { places, look } = this;
    context.fillStyle = look.text;
    context.font = look.font;
    context.textBaseline = 'alphabetic';
    places.blocks.forEach(({ x, y, header }, i) => {
      const bottom = (y + header) * places.pitch - top;
      if (header > 0 && bottom > 0 && bottom < context.canvas.height + header * places.pitch) {
        const room = this.roomFor(i);
        context.fillText(shortened(context, places.groups[i].name, room), x * places.pitch, bottom - 4 * look.density);
      }
    });
  }

  private drawTexts(
    context: CanvasRenderingContext2D,
    top: number,
    colours: Uint32Array,
    textOf: (cell: number) => string
  ) {
    const { at, columns, pitch } = this.places;
    context.save();
    context.font = this.look.font;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    // A split GPU has no room for a text that is of one colour's cell.
    const split = new Set(this.places.slices.split);
    at.forEach((place, cell) => {
      const y = (Math.floor(place / columns) + 0.5) * pitch - top;
      if (place >= 0 && !split.has(cell) && y > -pitch && y < context.canvas.height + pitch) {
        context.fillStyle = colours[cell] === 0 ? this.look.text : inkOn(colours[cell]);
        context.fillText(
          shortened(context, textOf(cell), pitch - 6 * this.look.density),
          ((place % columns) + 0.5) * pitch,
          y
        );
      }
    });
    context.restore();
  }

  /** Up to where the next block on the same shelf begins. */
  private roomFor(at: number): number {
    const { blocks, columns, pitch } = this.places;
    const next = blocks[at + 1];
    const end = next && next.y === blocks[at].y ? next.x : columns;
    return (end - blocks[at].x) * pitch - 2 * this.look.density;
  }
}

/** Puts bitmaps of a whole map onto a canvas, scaled. */
function stamp(context: CanvasRenderingContext2D, places: Places, top: number, bitmaps: Bitmap[]) {
  const { columns, rows, pitch } = places;
  context.imageSmoothingEnabled = false;
  for (const { canvas, width, height } of bitmaps) {
    context.drawImage(canvas, 0, 0, width, height, 0, -top, columns * pitch, Math.max(1, rows) * pitch);
    context.globalCompositeOperation = 'source-over';
  }
}

/** The cells of a fleet in one colour. */
function mask(fleet: Fleet, places: Places): Bitmap[] {
  const opaque = new Uint32Array(fleet.count).fill(0xffffffff);
  const gpus = new Bitmap(places.columns, Math.max(1, places.rows));
  paintGpus(places, opaque, gpus.pixels);
  const bitmaps = [gpus];
  if (places.slices.split.length > 0) {
    const split = new Bitmap(places.columns * SPLIT_COLUMNS, places.rows * SPLIT_ROWS);
    paintSlices(fleet, places, opaque, split.pixels);
    bitmaps.push(split);
  }
  bitmaps.forEach((bitmap) => bitmap.flush(0, bitmap.height));
  return bitmaps;
}

/** Lines along the right and the lower edge of every cell. */
function gapPattern(pitch: number, density: number): CanvasPattern | null {
  const tile = document.createElement('canvas');
  tile.width = pitch;
  tile.height = pitch;
  const context = contextOf(tile);
  const gap = Math.max(1, Math.round((pitch >= 14 * density ? 2 : 1) * density));
  context.fillRect(pitch - gap, 0, gap, pitch);
  context.fillRect(0, pitch - gap, pitch, gap);
  return context.createPattern(tile, 'repeat');
}

function hatchPattern({ hatch, density }: Look): CanvasPattern | null {
  const side = Math.max(4, Math.round(5 * density));
  const tile = document.createElement('canvas');
  tile.width = side;
  tile.height = side;
  const context = contextOf(tile);
  context.strokeStyle = hatch;
  context.lineWidth = Math.max(1, density);
  context.beginPath();
  // The corners' parts of the neighbouring lines make the tile seamless.
  for (const shift of [-side, 0, side]) {
    context.moveTo(shift - 1, side + 1);
    context.lineTo(shift + side + 1, -1);
  }
  context.stroke();
  return context.createPattern(tile, 'repeat');
}

function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) {
    return text;
  }
  let kept = text.length - 1;
  while (kept > 0 && context.measureText(`${text.slice(0, kept)}…`).width > room) {
    kept--;
  }
  return kept > 0 ? `${text.slice(0, kept)}…` : '';
}
