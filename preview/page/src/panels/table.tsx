import { cacheFieldDisplayNames, PanelPlugin, type PanelProps } from '@grafana/data';
import { type TableCellHeight, type TableSortByFieldState } from '@grafana/schema';
import { TableNG } from '@grafana/ui/unstable';

import { customFields } from './customFields';
import { NoData } from './NoData';

interface Options {
  frameIndex?: number;
  showHeader?: boolean;
  cellHeight?: TableCellHeight;
  sortBy?: TableSortByFieldState[];
}

function TablePanel({ data, width, height, options, fieldConfig, timeRange, title }: PanelProps<Options>) {
  const frames = data.series.filter(({ fields }) => fields.length > 0);
  // The table shows names that were worked out before, as Grafana's panel does for it.
  cacheFieldDisplayNames(frames);
  const frame = frames[options.frameIndex ?? 0] ?? frames[0];
  if (!frame || frame.length === 0) {
    return <NoData data={data} text={fieldConfig.defaults.noValue} />;
  }
  return (
    <TableNG
      data={frame}
      width={width}
      height={height}
      ariaLabel={title}
      noHeader={options.showHeader === false}
      cellHeight={options.cellHeight}
      initialSortBy={options.sortBy}
      timeRange={timeRange}
      structureRev={data.structureRev}
      fieldConfig={fieldConfig}
    />
  );
}

export const table = new PanelPlugin<Options>(TablePanel).useFieldConfig({
  useCustomConfig: customFields({
    align: 'auto',
    width: undefined,
    minWidth: undefined,
    cellOptions: { type: 'auto' },
    filterable: undefined,
    inspect: false,
    hidden: undefined,
    hideFrom: undefined,
    wrapText: undefined,
  }),
});
