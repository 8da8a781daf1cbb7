import {
  FieldColorModeId,
  type FieldDisplay,
  getDisplayValueAlignmentFactors,
  getFieldDisplayValues,
  PanelPlugin,
  type PanelProps,
  type ReduceDataOptions,
  VizOrientation,
} from '@grafana/data';
import {
  BarGauge,
  BarGaugeDisplayMode,
  BigValue,
  BigValueColorMode,
  BigValueGraphMode,
  BigValueJustifyMode,
  BigValueTextMode,
  useTheme2,
  VizRepeater,
  type VizRepeaterRenderValueProps,
} from '@grafana/ui';
import {
  type BarGaugeNamePlacement,
  type BarGaugeSizing,
  BarGaugeValueMode,
  type VizTextDisplayOptions,
} from '@grafana/schema';
import { type ComponentType } from 'react';

import { colorBy, customFields } from './customFields';
import { ArcGauge } from './ArcGauge';
import { NoData } from './NoData';

/** The options of Grafana's stat, gauge and bar gauge panels. */
interface Options {
  reduceOptions: ReduceDataOptions;
  orientation: VizOrientation;
  text?: VizTextDisplayOptions;
  colorMode: BigValueColorMode;
  graphMode: BigValueGraphMode;
  justifyMode: BigValueJustifyMode;
  textMode: BigValueTextMode;
  wideLayout: boolean;
  displayMode: BarGaugeDisplayMode;
  valueMode: BarGaugeValueMode;
  namePlacement: BarGaugeNamePlacement;
  sizing: BarGaugeSizing;
  showUnfilled: boolean;
  minVizWidth?: number;
  minVizHeight?: number;
  maxVizHeight?: number;
}

type Value = VizRepeaterRenderValueProps<FieldDisplay, ReturnType<typeof getDisplayValueAlignmentFactors>> & {
  options: Options;
};

/** Makes a panel that reduces every series to a value and repeats a visualisation for each. */
function singleValuePanel(
  Visualisation: ComponentType<Value>,
  { autoGrid, sparkline }: { autoGrid: boolean; sparkline: boolean }
) {
  return new PanelPlugin<Options>(
    ({ data, width, height, options, fieldConfig, replaceVariables, timeZone, renderCounter }: PanelProps<Options>) => {
      const theme = useTheme2();
      const getValues = () =>
        getFieldDisplayValues({
          data: data.series,
          reduceOptions: options.reduceOptions ?? { calcs: ['lastNotNull'] },
          fieldConfig,
          replaceVariables,
          theme,
          timeZone,
          sparkline: sparkline && options.graphMode !== BigValueGraphMode.None,
        });
      if (data.series.length === 0) {
        return <NoData data={data} text={fieldConfig.defaults.noValue} />;
      }
      return (
        <VizRepeater
          getValues={getValues}
          getAlignmentFactors={getDisplayValueAlignmentFactors}
          renderValue={(props) => <Visualisation {...props} options={options} />}
          source={data}
          width={width}
          height={height}
          renderCounter={renderCounter}
          orientation={options.orientation ?? VizOrientation.Auto}
          autoGrid={autoGrid}
          minVizWidth={options.minVizWidth}
          minVizHeight={options.minVizHeight}
          maxVizHeight={options.maxVizHeight}
        />
      );
    }
  ).useFieldConfig({
    standardOptions: colorBy(FieldColorModeId.Thresholds),
    useCustomConfig: customFields({ hideFrom: undefined }),
  });
}

function Stat({ value, width, height, count, alignmentFactors, options }: Value) {
  const theme = useTheme2();
  return (
    <BigValue
      theme={theme}
      value={value.display}
      sparkline={value.sparkline}
      count={count}
      width={width}
      height={height}
      alignmentFactors={alignmentFactors}
      colorMode={options.colorMode ?? BigValueColorMode.Value}
      graphMode={options.graphMode ?? BigValueGraphMode.Area}
      justifyMode={options.justifyMode ?? BigValueJustifyMode.Auto}
      textMode={options.textMode ?? BigValueTextMode.Auto}
      text={options.text}
      disableWideLayout={options.wideLayout === false}
    />
  );
}

function RoundGauge({ value, width, height }: Value) {
  return <ArcGauge value={value.display} config={value.field} width={width} height={height} />;
}

function Bar({ value, width, height, orientation, alignmentFactors, options }: Value) {
  const theme = useTheme2();
  return (
    <BarGauge
      theme={theme}
      value={value.display}
      field={value.field}
      width={width}
      height={height}
      orientation={orientation}
      alignmentFactors={alignmentFactors}
      display={value.view?.getFieldDisplayProcessor(value.colIndex ?? 0)}
      displayMode={options.displayMode ?? BarGaugeDisplayMode.Gradient}
      valueDisplayMode={options.valueMode ?? BarGaugeValueMode.Color}
      namePlacement={options.namePlacement}
      showUnfilled={options.showUnfilled ?? true}
      text={options.text}
      itemSpacing={2}
      lcdCellWidth={12}
    />
  );
}

export const stat = singleValuePanel(Stat, { autoGrid: true, sparkline: true }).setNoPadding();
export const gauge = singleValuePanel(RoundGauge, { autoGrid: true, sparkline: false });
export const barGauge = singleValuePanel(Bar, { autoGrid: false, sparkline: false });
