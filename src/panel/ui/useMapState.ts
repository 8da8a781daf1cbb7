import { type LinkModel } from '@grafana/data';
import React, { useCallback, useRef, useState } from 'react';

import { type Description } from '../describe';
import { follow } from '../drilldown';
import { type Fleet } from '../fleet/Fleet';
import { cellAt, gpusWithin, nameAt, type Point, type Rect, rectOf } from '../layout/find';
import { move, type Step } from '../layout/move';
import { type Places } from '../layout/place';
import { announcementOf } from './announce';

interface Options {
  /** The map's, once it is there. */
  element: HTMLDivElement | null;
  fleet: Fleet;
  places: Places;
  /** Pixels of the screen for one of the page. */
  density: number;
  describe: (cell: number) => Description;
  linksOf: (cell: number) => LinkModel[];
  onSelect: (gpus: number[]) => string;
}

interface Brush {
  from: Point;
  to: Point;
}

interface Position {
  x: number;
  y: number;
}

export interface MapState {
  handlers: Pick<
    React.HTMLAttributes<HTMLDivElement>,
    | 'onPointerMove'
    | 'onPointerDown'
    | 'onPointerUp'
    | 'onPointerLeave'
    | 'onPointerCancel'
    | 'onDoubleClick'
    | 'onKeyDown'
  >;
  /** Cells, -1 for none. */
  hovered: number;
  /** The group whose name is under the pointer, -1 for none. */
  named: number;
  active: number;
  pinned: number;
  brush?: Brush;
  /** Where the card is, on the page. */
  position?: Position;
  announcement: string;
  close: () => void;
}

/** So far has the pointer to go, in pixels, before it draws a rectangle. */
const DRAG = 4;

const KEYS: Partial<Record<string, Step>> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
  Home: 'home',
  End: 'end',
  PageDown: 'nextGroup',
  PageUp: 'previousGroup',
};

/** What pointer and keyboard do on the map. Nothing here draws, or waits for it. */
export function useMapState({ element, fleet, places, density, describe, linksOf, onSelect }: Options): MapState {
  const [hovered, setHovered] = useState(-1);
  const [named, setNamed] = useState(-1);
  const [active, setActive] = useState(-1);
  const [pinned, setPinned] = useState(-1);
  const [brush, setBrush] = useState<Brush>();
  const [position, setPosition] = useState<Position>();
  const [announcement, setAnnouncement] = useState('');
  const pressed = useRef<{ at: Point; x: number; y: number }>();

  const close = useCallback(() => {
    setPinned(-1);
    setPosition(undefined);
    element?.focus({ preventScroll: true });
  }, [element]);

  const pointOf = ({ clientX, clientY }: React.MouseEvent): Point => {
    const box = element?.getBoundingClientRect();
    const scrolled = element?.scrollTop ?? 0;
    return { x: (clientX - (box?.left ?? 0)) * density, y: (clientY - (box?.top ?? 0) + scrolled) * density };
  };

  const onPointerMove = (event: React.PointerEvent) => {
    const point = pointOf(event);
    const start = pressed.current;
    if (start && (brush || Math.hypot(event.clientX - start.x, event.clientY - start.y) >= DRAG)) {
      setBrush({ from: start.at, to: point });
      setHovered(-1);
      setNamed(-1);
      return;
    }
    const cell = cellAt(fleet, places, point);
    setHovered(cell);
    setNamed(cell < 0 ? nameAt(places, point) : -1);
    if (pinned < 0) {
      setPosition({ x: event.clientX, y: event.clientY });
    }
  };

  const onPointerDown = (event: React.PointerEvent<HTMLDivElement>) => {
    if (event.button === 0) {
      pressed.current = { at: pointOf(event), x: event.clientX, y: event.clientY };
      event.currentTarget.setPointerCapture?.(event.pointerId);
    }
  };

  const onPointerUp = (event: React.PointerEvent) => {
    const start = pressed.current;
    pressed.current = undefined;
    if (!start) {
      return;
    }
    if (brush) {
      select(brush);
      return;
    }
    const cell = cellAt(fleet, places, pointOf(event));
    setActive(cell);
    const atOnce = cell < 0 ? undefined : linksOf(cell).find(({ oneClick }) => oneClick);
    if (atOnce) {
      follow(atOnce);
      return;
    }
    setPinned(cell);
    setPosition(cell < 0 ? undefined : { x: event.clientX, y: event.clientY });
  };

  const onDoubleClick = (event: React.MouseEvent) => {
    const cell = cellAt(fleet, places, pointOf(event));
    if (cell >= 0) {
      open(cell);
    }
  };

  /** Follows the first link. */
  const open = (cell: number) => linksOf(cell).slice(0, 1).forEach(follow);

  const select = ({ from, to }: Brush) => {
    const gpus = gpusWithin(places, from, to);
    setBrush(undefined);
    setAnnouncement(gpus.length > 0 ? onSelect(gpus) : 'No GPU selected.');
  };

  const forget = () => {
    pressed.current = undefined;
    setHovered(-1);
    setNamed(-1);
    setBrush(undefined);
    if (pinned < 0) {
      setPosition(undefined);
    }
  };

  const pin = (cell: number) => {
    const { x, y, width, height } = rectOf(fleet, places, cell);
    const box = element?.getBoundingClientRect();
    const scrolled = element?.scrollTop ?? 0;
    setPosition({
      x: (box?.left ?? 0) + (x + width) / density,
      y: (box?.top ?? 0) + (y + height) / density - scrolled,
    });
    setPinned(cell);
  };

  const go = (step: Step, selecting: boolean) => {
    const next = move(fleet, places, active, step);
    setActive(next);
    setHovered(-1);
    setNamed(-1);
    if (next < 0) {
      return;
    }
    const rect = rectOf(fleet, places, next);
    scrollTo(element, rect.y / density, rect.height / density);
    if (selecting) {
      const from = brush?.from ?? centre(rectOf(fleet, places, Math.max(0, active)));
      setBrush({ from, to: centre(rect) });
    } else {
      setBrush(undefined);
    }
    setAnnouncement(announcementOf(describe(next)));
  };

  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = KEYS[event.key];
    if (step) {
      go(step, event.shiftKey);
    } else if (event.key === 'Enter' && brush) {
      select(brush);
    } else if (event.key === 'Enter' && active >= 0) {
      (event.ctrlKey || event.metaKey ? open : pin)(active);
    } else if (event.key === 'Escape' && (brush || pinned >= 0)) {
      setBrush(undefined);
      close();
    } else {
      return;
    }
    event.preventDefault();
  };

  return {
    handlers: {
      onPointerMove,
      onPointerDown,
      onPointerUp,
      onPointerLeave: forget,
      onPointerCancel: forget,
      onDoubleClick,
      onKeyDown,
    },
    hovered,
    named,
    active,
    pinned,
    brush,
    position,
    announcement,
    close,
  };
}

function centre({ x, y, width, height }: Rect): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

function scrollTo(element: HTMLElement | null, top: number, height: number) {
  if (!element) {
    return;
  }
  if (top < element.scrollTop) {
    element.scrollTop = top;
  } else if (top + height > element.scrollTop + element.clientHeight) {
    element.scrollTop = top + height - element.clientHeight;
  }
}
