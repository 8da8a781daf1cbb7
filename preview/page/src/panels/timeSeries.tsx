import {
  type DataFrame,
  DashboardCursorSync,
  FieldColorModeId,
  FieldType,
  PanelPlugin,
  type PanelProps,
} from '@grafana/data';
import {
  type LegendDisplayMode,
  SortOrder,
  TooltipDisplayMode,
  type VizLegendOptions,
  type VizTooltipOptions,
} from '@grafana/schema';
import { TimeSeries, TooltipPlugin, usePanelContext, ZoomPlugin } from '@grafana/ui';
import { useMemo } from 'react';

import { colorBy, customFields } from './customFields';
import { NoData } from './NoData';

interface Options {
  legend: VizLegendOptions;
  tooltip: VizTooltipOptions;
}

const defaultLegend: VizLegendOptions = {
  showLegend: true,
  displayMode: 'list' as LegendDisplayMode,
  placement: 'bottom',
  calcs: [],
};

function TimeSeriesPanel({
  data,
  timeRange,
  timeZone,
  width,
  height,
  options,
  fieldConfig,
  onChangeTimeRange,
}: PanelProps<Options>) {
  const { sync } = usePanelContext();
  const frames = useMemo(() => data.series.filter(isGraphable), [data.series]);
  const legend = useMemo(() => ({ ...defaultLegend, ...options.legend }), [options.legend]);
  if (frames.length === 0) {
    return <NoData data={data} text={fieldConfig.defaults.noValue} />;
  }
  return (
    <TimeSeries
      frames={frames}
      structureRev={data.structureRev}
      timeRange={timeRange}
      timeZone={timeZone}
      width={width}
      height={height}
      legend={legend}
      options={options}
    >
      {(config, alignedFrame) => (
        <>
          <ZoomPlugin config={config} onZoom={({ from, to }) => onChangeTimeRange({ from, to })} />
          {options.tooltip?.mode !== TooltipDisplayMode.None && (
            <TooltipPlugin
              config={config}
              data={alignedFrame}
              frames={frames}
              mode={sync?.() === DashboardCursorSync.Tooltip ? TooltipDisplayMode.Multi : options.tooltip?.mode}
              sortOrder={options.tooltip?.sort ?? SortOrder.None}
              sync={sync}
              timeZone={timeZone}
            />
          )}
        </>
      )}
    </TimeSeries>
  );
}

function isGraphable({ fields, length }: DataFrame): boolean {
  return (
    length > 0 &&
    fields.some(({ type }) => type === FieldType.time) &&
    fields.some(({ type }) => type === FieldType.number)
  );
}

export const timeSeries = new PanelPlugin<Options>(TimeSeriesPanel).useFieldConfig({
  standardOptions: colorBy(FieldColorModeId.PaletteClassic),
  useCustomConfig: customFields({
    drawStyle: 'line',
    lineInterpolation: 'linear',
    lineWidth: 1,
    lineStyle: { fill: 'solid' },
    fillOpacity: 0,
    gradientMode: 'none',
    fillBelowTo: undefined,
    spanNulls: false,
    insertNulls: false,
    showPoints: 'auto',
    pointSize: 5,
    barAlignment: 0,
    barWidthFactor: 0.6,
    stacking: { mode: 'none', group: 'A' },
    axisPlacement: 'auto',
    axisLabel: '',
    axisWidth: undefined,
    axisColorMode: 'text',
    axisBorderShow: false,
    axisCenteredZero: false,
    axisGridShow: undefined,
    axisSoftMin: undefined,
    axisSoftMax: undefined,
    scaleDistribution: { type: 'linear' },
    thresholdsStyle: { mode: 'off' },
    hideFrom: { tooltip: false, viz: false, legend: false },
    transform: undefined,
  }),
});
