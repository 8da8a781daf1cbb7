/** What was drawn, by the names of the canvas' methods. */
export type Drawn = string[];

/** Gives every canvas a context that keeps what it is asked to draw: jsdom has none. */
export function fakeCanvas(): Drawn {
  const drawn: Drawn = [];
  const answers: Record<string, (...values: number[]) => unknown> = {
    createImageData: (width, height) => ({ width, height, data: new Uint8ClampedArray(4 * width * height) }),
    createPattern: () => ({}),
    measureText: () => ({ width: 8 }),
  };
  const contextOf = (canvas: HTMLCanvasElement) =>
    new Proxy<Record<string, unknown>>(
      { canvas },
      {
        get: (state, name) =>
          state[String(name)] ??
          ((...values: number[]) => {
            drawn.push(String(name));
            return answers[String(name)]?.(...values);
          }),
      }
    );
  jest.spyOn(HTMLCanvasElement.prototype, 'getContext').mockImplementation(function (this: HTMLCanvasElement) {
    return contextOf(this) as unknown as CanvasRenderingContext2D;
  });
  return drawn;
}
