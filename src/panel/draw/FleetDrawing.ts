import { type Fleet } from '../fleet/Fleet';
import { type Strip } from '../layout/pack';
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
  private readonly gaps: HTMLCanvasElement;
  private readonly gap: CanvasPattern | null;
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
    this.gaps = document.createElement('canvas');
    this.gap = pitch >= GAP_SIDE ? gapPattern(pitch, look.density) : null;
  }

  /**
   * Draws the part of the map that begins so many pixels below its top. `textOf` says what stands in a cell that is large
   * enough.
   */
  draw(canvas: HTMLCanvasElement, top: number, colours: Uint32Array, textOf?: (cell: number) => string): void {
    const shown = visible(this.places, top, canvas.height);
    const complete = this.paint(colours, top, canvas.height, shown);
    this.drawStill(canvas, top, shown);
    const context = contextOf(canvas);
    // What is drawn first replaces all that was there, which is cheaper than clearing.
    context.globalCompositeOperation = 'copy';
    if (!complete) {
      context.drawImage(this.below, 0, 0);
      context.globalCompositeOperation = 'source-over';
    }
    stamp(context, this.places, top, this.bitmaps(), shown);
    this.cutGaps(context);
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
  private paint(colours: Uint32Array, top: number, height: number, shown: readonly Strip[]): boolean {
    const complete = paintGpus(this.places, colours, this.gpus.pixels);
    const { from, to } = rowsWithin(shown, this.places.pitch, top, height);
    this.gpus.flush(from, to);
    if (this.split) {
      paintSlices(this.fleet, this.places, colours, this.split.pixels);
      this.split.flush(from * SPLIT_ROWS, to * SPLIT_ROWS);
    }
    return complete;
  }

  /** What does not change with the values: the hatching, where cells are, the gaps between them, and the groups' names. */
  private drawStill({ width, height }: HTMLCanvasElement, top: number, shown: readonly Strip[]) {
    const wanted = `${width} ${height} ${top}`;
    if (this.stillFor === wanted) {
      return;
    }
    this.stillFor = wanted;
    for (const canvas of [this.below, this.above, this.gaps]) {
      canvas.width = width;
      canvas.height = height;
    }
    // Cells are stamped in one colour, and what is opaque is filled with the pattern.
    const context = contextOf(this.below);
    stamp(context, this.places, top, mask(this.fleet, this.places), shown);
    const hatching = hatchPattern(this.look);
    if (hatching) {
      context.globalCompositeOperation = 'source-in';
      context.fillStyle = hatching;
      context.fillRect(0, 0, width, height);
    }
    this.drawGaps(contextOf(this.gaps), top, shown);
    this.drawLabels(contextOf(this.above), top);
  }

  private drawGaps(context: CanvasRenderingContext2D, scrolled: number, shown: readonly Strip[]) {
    if (!this.gap) {
      return;
    }
    const { pitch } = this.places;
    context.fillStyle = this.gap;
    for (const { left, top, columns, rows } of shown) {
      context.setTransform(1, 0, 0, 1, left, top - scrolled);
      context.fillRect(0, 0, columns * pitch, rows * pitch);
    }
    context.resetTransform();
  }

  private cutGaps(context: CanvasRenderingContext2D) {
    if (this.gap) {
      context.globalCompositeOperation = 'destination-out';
      context.drawImage(this.gaps, 0, 0);
      context.globalCompositeOperation = 'source-over';
    }
  }

  private drawLabels(context: CanvasRenderingContext2D, scrolled: number) {
    const { places, look } = this;
    context.fillStyle = look.text;
    context.font = look.font;
    context.textBaseline = 'alphabetic';
    places.blocks.forEach(({ left, top, header, room }, i) => {
      const bottom = top - scrolled;
      if (header > 0 && bottom > 0 && bottom < context.canvas.height + header) {
        const text = shortened(context, places.groups[i].name, room - 2 * look.density);
        context.fillText(text, left, bottom - 5 * look.density);
      }
    });
  }

  private drawTexts(
    context: CanvasRenderingContext2D,
    scrolled: number,
    colours: Uint32Array,
    textOf: (cell: number) => string
  ) {
    const { pitch, blocks, groups } = this.places;
    context.save();
    context.font = this.look.font;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    // A split GPU has no room for a text that is of one colour's cell.
    const split = new Set(this.places.slices.split);
    blocks.forEach(({ left, top, columns }, g) => {
      groups[g].gpus.forEach((cell, i) => {
        const y = top - scrolled + (Math.floor(i / columns) + 0.5) * pitch;
        if (!split.has(cell) && y > -pitch && y < context.canvas.height + pitch) {
          context.fillStyle = colours[cell] === 0 ? this.look.text : inkOn(colours[cell]);
          const text = shortened(context, textOf(cell), pitch - 6 * this.look.density);
          context.fillText(text, left + ((i % columns) + 0.5) * pitch, y);
        }
      });
    });
    context.restore();
  }
}

/** The strips of which something is in view. */
function visible({ strips, pitch }: Places, scrolled: number, height: number): Strip[] {
  return strips.filter(({ top, rows }) => top < scrolled + height && top + rows * pitch > scrolled);
}

/** The rows of the grid that are in view. */
function rowsWithin(shown: readonly Strip[], pitch: number, scrolled: number, height: number) {
  let [from, to] = [Infinity, 0];
  for (const { y, rows, top } of shown) {
    from = Math.min(from, y + Math.max(0, Math.floor((scrolled - top) / pitch)));
    to = Math.max(to, y + Math.min(rows, Math.ceil((scrolled + height - top) / pitch)));
  }
  return { from: Math.min(from, to), to };
}

/** Puts the parts of bitmaps of a whole map that are in view onto a canvas, scaled. */
function stamp(
  context: CanvasRenderingContext2D,
  { pitch, columns: across, rows: down }: Places,
  scrolled: number,
  bitmaps: readonly Bitmap[],
  shown: readonly Strip[]
) {
  context.imageSmoothingEnabled = false;
  for (const { canvas, width, height } of bitmaps) {
    // A bitmap of MIG instances has several pixels for a cell.
    const [wide, high] = [width / across, height / Math.max(1, down)];
    for (const { x, y, columns, rows, left, top } of shown) {
      context.drawImage(
        canvas,
        x * wide,
        y * high,
        columns * wide,
        rows * high,
        left,
        top - scrolled,
        columns * pitch,
        rows * pitch
      );
      context.globalCompositeOperation = 'source-over';
    }
  }
  if (shown.length === 0 && context.globalCompositeOperation === 'copy') {
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
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
