/** A picture that is not on the page, of which pixels are written as numbers. */
export class Bitmap {
  readonly pixels: Uint32Array;
  private readonly context: CanvasRenderingContext2D;
  private readonly image: ImageData;

  constructor(
    readonly width: number,
    readonly height: number
  ) {
    this.canvas = document.createElement('canvas');
    this.canvas.width = width;
    this.canvas.height = height;
    this.context = contextOf(this.canvas);
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  readonly canvas: HTMLCanvasElement;

  /** Puts rows of the pixels into the picture. */
  flush(fromRow: number, toRow: number): void {
    this.context.putImageData(this.image, 0, 0, 0, fromRow, this.width, toRow - fromRow);
  }
}

export function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext('2d');
  if (!context) {
    throw new Error('This browser gives no canvas to draw on: too many are in use, or drawing is switched off.');
  }
  return context;
}
