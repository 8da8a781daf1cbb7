import {
  type DataFrame,
  type Field,
  FieldColorModeId,
  FieldType,
  fieldColorModeRegistry,
  formattedValueToString,
  getFieldDisplayName,
  type GrafanaTheme2,
  outerJoinDataFrames,
  PanelPlugin,
  type PanelProps,
  reduceField,
} from '@grafana/data';
import { AxisPlacement, ScaleDirection, ScaleOrientation, VisibilityMode } from '@grafana/schema';
import { SeriesTable, TooltipPlugin, UPlotChart, UPlotConfigBuilder, useTheme2 } from '@grafana/ui';
import { useMemo, useRef } from 'react';
import type uPlot from 'uplot';

import { colorBy, customFields } from './customFields';
import { NoData } from './NoData';

interface Options {
  mergeValues?: boolean;
  rowHeight?: number;
  perPage?: number;
  showValue?: VisibilityMode;
  color?: { scheme?: string };
}

/** One series as a row of cells; colour and text say what a cell shows. */
interface Row {
  name: string;
  field: Field;
  color: (value: unknown) => string;
}

/** A sample later than this many usual distances after the one before leaves a gap. */
const gapFactor = 1.6;

/**
 * Draws every series as a row over time: as states that last until the next one, or as a heat map of samples.
 */
function cellsPanel(kind: 'states' | 'heat') {
  function Cells({ data, width, height, options, timeRange, timeZone }: PanelProps<Options>) {
    const theme = useTheme2();
    const aligned = useMemo(() => alignFrames(data.series), [data.series]);
    // Grafana has pages; here the first one is shown.
    const rows = useMemo(
      () => (aligned ? toRows(aligned, kind, options, theme).slice(0, options.perPage || undefined) : []),
      [aligned, options, theme]
    );
    const range = useRef(timeRange);
    range.current = timeRange;
    const latest = useRef({ rows, options });
    latest.current = { rows, options };
    const hovered = useRef(0);
    const names = rows.map(({ name }) => name).join('\n');

    // Rebuilt when rows come or go only: a new configuration makes a new plot.
    const config = useMemo(() => {
      const builder = new UPlotConfigBuilder(timeZone);
      const count = names.split('\n').length;
      builder.addScale({
        scaleKey: 'x',
        isTime: true,
        orientation: ScaleOrientation.Horizontal,
        direction: ScaleDirection.Right,
        range: () => [range.current.from.valueOf(), range.current.to.valueOf()],
      });
      builder.addScale({
        scaleKey: 'y',
        orientation: ScaleOrientation.Vertical,
        direction: ScaleDirection.Down,
        range: () => [0, count],
      });
      builder.addAxis({
        scaleKey: 'x',
        isTime: true,
        placement: AxisPlacement.Bottom,
        timeZone,
        theme,
        grid: { show: false },
      });
      builder.addAxis({
        scaleKey: 'y',
        placement: AxisPlacement.Left,
        theme,
        grid: { show: false },
        ticks: { show: false },
        splits: () => names.split('\n').map((_, i) => i + 0.5),
        values: () => names.split('\n'),
      });
      builder.addSeries({ scaleKey: 'y', theme, pxAlign: false, pathBuilder: () => null, show: true });
      builder.addHook('draw', (plot) => draw(plot, latest.current.rows, kind, latest.current.options, theme));
      builder.addHook('setCursor', (plot) => {
        hovered.current = Math.floor(plot.posToVal(plot.cursor.top ?? 0, 'y'));
      });
      return builder;
    }, [names, theme, timeZone]);

    if (!aligned || rows.length === 0) {
      return <NoData data={data} />;
    }
    return (
      <UPlotChart
        config={config}
        data={[aligned.fields[0].values, aligned.fields[0].values.map(() => 0)]}
        width={width}
        height={height}
      >
        <TooltipPlugin
          config={config}
          data={aligned}
          timeZone={timeZone}
          renderTooltip={(frame, _, index) => {
            const row = rows[hovered.current];
            if (!row || index === null) {
              return null;
            }
            const at = kind === 'states' ? lastKnown(row.field.values, index) : index;
            const value = row.field.values[at];
            const text = value == null ? '-' : textOf(row.field, value);
            const time = frame.fields[0];
            return (
              <SeriesTable
                timestamp={time.display?.(time.values[index]).text}
                series={[{ label: row.name, value: text, color: value == null ? undefined : row.color(value) }]}
              />
            );
          }}
        />
      </UPlotChart>
    );
  }
  return new PanelPlugin<Options>(Cells).useFieldConfig({
    standardOptions: colorBy(FieldColorModeId.Thresholds),
    useCustomConfig: customFields({ lineWidth: 0, fillOpacity: 70, hideFrom: undefined }),
  });
}

function alignFrames(frames: DataFrame[]): DataFrame | undefined {
  const timed = frames.filter(({ fields, length }) => length > 0 && fields.some(({ type }) => type === FieldType.time));
  return timed.length > 0 ? outerJoinDataFrames({ frames: timed, keepDisplayNames: true }) : undefined;
}

function toRows(frame: DataFrame, kind: 'states' | 'heat', options: Options, theme: GrafanaTheme2): Row[] {
  const fields = frame.fields.filter(({ type, config }) => type !== FieldType.time && !config.custom?.hideFrom?.viz);
  const heat = kind === 'heat' ? heatColor(fields, options.color?.scheme, theme) : undefined;
  return fields.map((field) => ({
    name: getFieldDisplayName(field, frame),
    field,
    color: heat ?? ((value) => field.display?.(value).color ?? theme.colors.primary.main),
  }));
}

/** Colours a value by its place between the least and the greatest of all rows. */
function heatColor(fields: Field[], scheme: string | undefined, theme: GrafanaTheme2) {
  const calcs = fields.map((field) => reduceField({ field, reducers: ['min', 'max'] }));
  const min = Math.min(...fields.map((field, i) => field.config.min ?? calcs[i].min));
  const max = Math.max(...fields.map((field, i) => field.config.max ?? calcs[i].max));
  const wanted = fieldColorModeRegistry.getIfExists(`continuous-${scheme?.toLowerCase()}`);
  const calculate = (wanted ?? fieldColorModeRegistry.get('continuous-BlPu')).getCalculator(fields[0], theme);
  return (value: unknown) => calculate(Number(value), max > min ? (Number(value) - min) / (max - min) : 0);
}

function draw(plot: uPlot, rows: Row[], kind: 'states' | 'heat', options: Options, theme: GrafanaTheme2) {
  const { ctx, bbox } = plot;
  const times = plot.data[0];
  const step = usualStep(times);
  const inset =
    ((plot.valToPos(1, 'y', true) - plot.valToPos(0, 'y', true)) *
      (1 - (options.rowHeight ?? (kind === 'heat' ? 1 : 0.9)))) /
    2;
  const merging = kind === 'states' && options.mergeValues !== false;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = `${12 * devicePixelRatio}px ${theme.typography.fontFamily}`;
  ctx.textBaseline = 'middle';
  rows.forEach(({ field, color }, r) => {
    // Values between the same thresholds are one state.
    const byColor = field.type === FieldType.number && field.config.color?.mode === FieldColorModeId.Thresholds;
    const isSame = (a: unknown, b: unknown) =>
      merging && a != null && b != null && (byColor ? color(a) === color(b) : a === b);
    const top = plot.valToPos(r, 'y', true) + inset;
    const bottom = plot.valToPos(r + 1, 'y', true) - inset - devicePixelRatio;
    for (let i = 0; i < times.length;) {
      const value = field.values[i];
      let next = i + 1;
      while (next < times.length && (field.values[next] === undefined || isSame(value, field.values[next]))) {
        next++;
      }
      if (value != null) {
        const end =
          next < times.length && (kind === 'states' || times[next] - times[next - 1] < step * gapFactor)
            ? times[next]
            : times[next - 1] + step;
        const left = Math.round(plot.valToPos(times[i], 'x', true));
        const right = Math.round(plot.valToPos(end, 'x', true));
        const fill = color(value);
        ctx.fillStyle = kind === 'states' ? theme.colors.emphasize(fill, 0) : fill;
        ctx.fillRect(left, top, right - left - (kind === 'heat' ? 0 : devicePixelRatio), bottom - top);
        label(
          ctx,
          kind === 'states' && !byColor && options.showValue !== VisibilityMode.Never ? textOf(field, value) : '',
          left,
          right,
          (top + bottom) / 2,
          theme,
          fill
        );
      }
      i = next;
    }
  });
  ctx.restore();
}

function label(
  ctx: CanvasRenderingContext2D,
  text: string,
  left: number,
  right: number,
  middle: number,
  theme: GrafanaTheme2,
  background: string
) {
  const padding = 6 * devicePixelRatio;
  if (text && ctx.measureText(text).width < right - left - 2 * padding) {
    ctx.fillStyle = theme.colors.getContrastText(background);
    ctx.fillText(text, left + padding, middle);
  }
}

const textOf = (field: Field, value: unknown) =>
  field.display ? formattedValueToString(field.display(value)) : String(value);

function lastKnown(values: unknown[], index: number): number {
  while (index > 0 && values[index] === undefined) {
    index--;
  }
  return index;
}

function usualStep(times: ArrayLike<number>): number {
  const steps = Array.from({ length: Math.max(0, times.length - 1) }, (_, i) => times[i + 1] - times[i]).sort(
    (a, b) => a - b
  );
  return steps[Math.floor(steps.length / 2)] ?? 60_000;
}

export const stateTimeline = cellsPanel('states');
export const heatmap = cellsPanel('heat');
