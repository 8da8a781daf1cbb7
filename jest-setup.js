// Jest setup provided by Grafana scaffolding
import './.config/jest-setup';
import { configure } from '@testing-library/react';

// Nothing here is hidden from assistive technology, and finding that out of every ancestor's style is most of a test's time.
// What a test waits for may take long on a busy machine.
configure({ defaultHidden: true, asyncUtilTimeout: 15_000 });

// Grafana's lists measure text on a canvas and show what fits into their box; jsdom has neither canvas nor layout.
HTMLCanvasElement.prototype.getContext = () => ({ measureText: (text) => ({ width: text.length * 8 }) });

const box = { x: 0, y: 0, top: 0, left: 0, bottom: 240, right: 240, width: 240, height: 240 };
Element.prototype.getBoundingClientRect = () => ({ ...box, toJSON: () => box });

// Editors of code ask where their text is.
Range.prototype.getClientRects = () => [];
Range.prototype.getBoundingClientRect = () => ({ ...box, toJSON: () => box });

for (const [size, value] of Object.entries({ Width: box.width, Height: box.height })) {
  Object.defineProperty(HTMLElement.prototype, `offset${size}`, { get: () => value });
  Object.defineProperty(Element.prototype, `client${size}`, { get: () => value });
}

class NoObserver {
  observe() {}
  unobserve() {}
  disconnect() {}
}
Object.assign(global, { IntersectionObserver: NoObserver, ResizeObserver: NoObserver });
