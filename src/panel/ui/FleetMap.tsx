import { css } from '@emotion/css';
import { type GrafanaTheme2, type LinkModel } from '@grafana/data';
import { Portal, useStyles2, useTheme2, VizTooltipContainer } from '@grafana/ui';
import React, { useCallback, useId, useMemo, useRef, useState } from 'react';

import { type Description } from '../describe';
import { FleetDrawing } from '../draw/FleetDrawing';
import { useFrame } from '../draw/useFrame';
import { type Fleet } from '../fleet/Fleet';
import { rectOf } from '../layout/find';
import { type Group } from '../layout/groups';
import { pack } from '../layout/pack';
import { placeFleet, type Places } from '../layout/place';
import { type FleetOptions } from '../options';
import { Card } from './Card';
import { type MapState, useMapState } from './useMapState';

interface Props {
  fleet: Fleet;
  groups: Group[];
  colours: Uint32Array;
  options: FleetOptions;
  width: number;
  height: number;
  label: string;
  describe: (cell: number) => Description;
  textOf: (cell: number) => string;
  linksOf: (cell: number) => LinkModel[];
  onSelect: (gpus: number[]) => string;
}

const LABEL_HEIGHT = 20;
const MOST_LABEL_WIDTH = 96;
const LEAST_LABEL_WIDTH = 32;
/** About how wide a letter of a name is. */
const LETTER = 7;
const GAP = 6;
const LEAST_SIDE = 2;
const MOST_SIDE = 160;

/** The map: a canvas that is drawn in animation frames, and what answers to pointer and keyboard without it. */
export function FleetMap(props: Props) {
  const { fleet, colours, width, height, label, textOf } = props;
  const styles = useStyles2(getStyles);
  const helpId = useId();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [top, setTop] = useState(0);
  const density = window.devicePixelRatio || 1;
  const places = usePlaces(props, density);
  const drawing = useDrawing(fleet, places, density);
  const full = places.height / density;
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const state = useMapState({ ...props, element, places, density });

  useFrame(
    useCallback(() => {
      const shown = canvas.current;
      if (shown) {
        resize(shown, Math.floor(width * density), Math.floor(height * density));
        drawing.draw(shown, Math.round(top * density), colours, textOf);
      }
    }, [drawing, colours, textOf, top, width, height, density])
  );

  return (
    <>
      <div
        ref={setElement}
        className={styles.map}
        style={{ width, height, overflowY: full > height + 1 ? 'auto' : 'hidden' }}
        role="application"
        aria-roledescription="fleet map"
        aria-label={label}
        aria-describedby={helpId}
        tabIndex={0}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        {...state.handlers}
      >
        <div style={{ height: Math.max(full, height) }}>
          <canvas ref={canvas} className={styles.canvas} style={{ width, height }} aria-hidden="true" />
        </div>
        <Outlines state={state} fleet={fleet} places={places} density={density} />
      </div>
      <div id={helpId} className={styles.hidden}>
        Arrow keys go from GPU to GPU, Page Up and Page Down from group to group. Enter shows links, Ctrl with Enter
        follows the first, Shift with arrows selects GPUs for the dashboard&apos;s variables, Escape ends that.
      </div>
      <div aria-live="polite" className={styles.hidden} data-testid="fleet-announcement">
        {state.announcement}
      </div>
      <CellCard {...props} state={state} />
      <GroupCard groups={props.groups} state={state} />
    </>
  );
}

function usePlaces({ fleet, groups, options, width, height }: Props, density: number): Places {
  const { cellSize, showLabels, showMig } = options;
  return useMemo(() => {
    const packing = pack(
      groups.map(({ gpus }) => gpus.length),
      {
        width: Math.floor(width * density),
        height: Math.floor(height * density),
        pitch: cellSize > 0 ? Math.max(1, Math.round(cellSize * density)) : undefined,
        labelHeight: showLabels ? Math.round(LABEL_HEIGHT * density) : 0,
        labelWidth: showLabels ? labelWidthOf(groups) * density : 0,
        gap: Math.round(GAP * density),
        least: Math.round(LEAST_SIDE * density),
        most: Math.round(MOST_SIDE * density),
      }
    );
    return placeFleet(fleet, groups, packing, showMig);
  }, [fleet, groups, width, height, density, cellSize, showLabels, showMig]);
}

/** As wide as the longest name, within bounds: what is longer is cut short, and told by hovering. */
function labelWidthOf(groups: readonly Group[]): number {
  const letters = groups.reduce((most, { name }) => Math.max(most, name.length), 0);
  return Math.max(LEAST_LABEL_WIDTH, Math.min(MOST_LABEL_WIDTH, letters * LETTER));
}

function useDrawing(fleet: Fleet, places: Places, density: number): FleetDrawing {
  const theme = useTheme2();
  return useMemo(
    () =>
      new FleetDrawing(fleet, places, {
        hatch: theme.colors.text.disabled,
        text: theme.colors.text.secondary,
        font: `${12 * density}px ${theme.typography.fontFamily}`,
        density,
      }),
    [fleet, places, theme, density]
  );
}

function resize(canvas: HTMLCanvasElement, width: number, height: number) {
  // Setting a size clears the canvas, even to the same.
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
}

function Outlines({
  state,
  fleet,
  places,
  density,
}: {
  state: MapState;
  fleet: Fleet;
  places: Places;
  density: number;
}) {
  const styles = useStyles2(getStyles);
  const outline = (cell: number, className: string) => {
    if (cell < 0 || cell >= fleet.count) {
      return null;
    }
    const { x, y, width, height } = rectOf(fleet, places, cell);
    const style = {
      left: x / density,
      top: y / density,
      width: Math.max(4, width / density),
      height: Math.max(4, height / density),
    };
    return <div className={className} style={style} />;
  };
  const { brush } = state;
  return (
    <>
      {outline(state.hovered, styles.hovered)}
      {outline(state.active, styles.active)}
      {brush && (
        <div
          className={styles.brush}
          data-testid="fleet-brush"
          style={{
            left: Math.min(brush.from.x, brush.to.x) / density,
            top: Math.min(brush.from.y, brush.to.y) / density,
            width: Math.abs(brush.to.x - brush.from.x) / density,
            height: Math.abs(brush.to.y - brush.from.y) / density,
          }}
        />
      )}
    </>
  );
}

function CellCard({ state, describe, linksOf, colours }: Props & { state: MapState }) {
  const cell = state.pinned >= 0 ? state.pinned : state.hovered;
  if (cell < 0 || cell >= colours.length || !state.position) {
    return null;
  }
  const pinned = state.pinned >= 0;
  return (
    <Portal>
      <VizTooltipContainer position={state.position} offset={{ x: 12, y: 12 }} allowPointerEvents={pinned}>
        <Card
          description={describe(cell)}
          colour={colours[cell]}
          links={linksOf(cell)}
          pinned={pinned}
          onClose={state.close}
        />
      </VizTooltipContainer>
    </Portal>
  );
}

/** The whole name of a group, which may be cut short on the map, and how large it is. */
function GroupCard({ groups, state: { named, pinned, position } }: { groups: Group[]; state: MapState }) {
  const group = groups[named];
  if (!group || pinned >= 0 || !position) {
    return null;
  }
  return (
    <Portal>
      <VizTooltipContainer position={position} offset={{ x: 12, y: 12 }}>
        {group.name}: {group.gpus.length.toLocaleString('en')} {group.gpus.length === 1 ? 'GPU' : 'GPUs'}
      </VizTooltipContainer>
    </Portal>
  );
}

const getStyles = (theme: GrafanaTheme2) => {
  const outline = { position: 'absolute', pointerEvents: 'none', borderRadius: 1 } as const;
  return {
    map: css({
      position: 'relative',
      overflowX: 'hidden',
      cursor: 'crosshair',
      touchAction: 'pan-y',
      '&:focus-visible': { outline: `2px solid ${theme.colors.primary.main}`, outlineOffset: -1 },
    }),
    canvas: css({ display: 'block', position: 'sticky', top: 0 }),
    hovered: css({ ...outline, boxShadow: `0 0 0 2px ${theme.colors.text.primary}` }),
    active: css({
      ...outline,
      boxShadow: `0 0 0 2px ${theme.colors.background.canvas}, 0 0 0 4px ${theme.colors.primary.border}`,
    }),
    brush: css({
      ...outline,
      border: `1px solid ${theme.colors.primary.border}`,
      background: theme.colors.primary.transparent,
    }),
    hidden: css({
      position: 'absolute',
      width: 1,
      height: 1,
      overflow: 'hidden',
      clipPath: 'inset(50%)',
      whiteSpace: 'nowrap',
    }),
  };
};
