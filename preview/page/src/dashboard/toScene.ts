import { DashboardCursorSync } from '@grafana/data';
import {
  behaviors,
  ConstantVariable,
  CustomVariable,
  DataSourceVariable,
  EmbeddedScene,
  IntervalVariable,
  QueryVariable,
  SceneDataTransformer,
  SceneGridItem,
  SceneGridLayout,
  SceneGridRow,
  SceneQueryRunner,
  SceneRefreshPicker,
  SceneTimePicker,
  SceneTimeRange,
  type SceneVariable,
  SceneVariableSet,
  TextBoxVariable,
  VariableValueSelectors,
  VizPanel,
} from '@grafana/scenes';

import { skipsQueries } from '../panels/registry';
import { Controls } from './Controls';
import { type Dashboard, type Panel, type Variable } from './model';
import { PanelNotices } from './PanelNotices';

/** Builds the scene of a dashboard: variables, time range, refresh, and its panels on Grafana's grid. */
export function toScene(dashboard: Dashboard): EmbeddedScene {
  return new EmbeddedScene({
    $timeRange: new SceneTimeRange({
      from: dashboard.time?.from ?? 'now-1h',
      to: dashboard.time?.to ?? 'now',
      timeZone: dashboard.timezone || 'browser',
    }),
    $variables: new SceneVariableSet({ variables: (dashboard.templating?.list ?? []).map(toVariable) }),
    $behaviors: [
      new behaviors.CursorSync({ sync: dashboard.graphTooltip ?? DashboardCursorSync.Off }),
      new behaviors.LiveNowTimer({ enabled: dashboard.liveNow ?? false }),
    ],
    controls: [
      new Controls({
        left: [new VariableValueSelectors({})],
        right: [
          new SceneTimePicker({ isOnCanvas: true }),
          new SceneRefreshPicker({
            isOnCanvas: true,
            withText: true,
            refresh: dashboard.refresh || '',
            intervals: dashboard.timepicker?.refresh_intervals ?? ['5s', '10s', '30s', '1m', '5m', '15m'],
            minRefreshInterval: '1s',
          }),
        ],
      }),
    ],
    body: new SceneGridLayout({ isDraggable: false, isResizable: false, children: toGrid(dashboard.panels ?? []) }),
  });
}

/** Puts panels below an open row into the row, as Grafana does; a collapsed row lists its own. */
function toGrid(panels: Panel[]): Array<SceneGridItem | SceneGridRow> {
  const children: Array<SceneGridItem | SceneGridRow> = [];
  let open: SceneGridRow | undefined;
  for (const panel of panels) {
    if (panel.type === 'row') {
      open = new SceneGridRow({
        key: `panel-${panel.id}`,
        title: panel.title ?? '',
        y: panel.gridPos.y,
        isCollapsed: panel.collapsed ?? false,
        children: (panel.panels ?? []).map(toGridItem),
      });
      children.push(open);
    } else if (open) {
      open.setState({ children: [...open.state.children, toGridItem(panel)] });
    } else {
      children.push(toGridItem(panel));
    }
  }
  return children;
}

function toGridItem(panel: Panel): SceneGridItem {
  const { x, y, w, h } = panel.gridPos;
  return new SceneGridItem({ key: `grid-item-${panel.id}`, x, y, width: w, height: h, body: toVizPanel(panel) });
}

function toVizPanel(panel: Panel): VizPanel {
  const { id, type, title = '', description, transparent, options = {}, targets, transformations = [] } = panel;
  const queries =
    targets && !skipsQueries(type)
      ? new SceneQueryRunner({
          queries: targets,
          datasource: panel.datasource ?? undefined,
          maxDataPoints: panel.maxDataPoints,
          maxDataPointsFromWidth: true,
          minInterval: panel.interval,
        })
      : undefined;
  return new VizPanel({
    key: `panel-${id}`,
    pluginId: type,
    title,
    description,
    options,
    fieldConfig: panel.fieldConfig ?? { defaults: {}, overrides: [] },
    displayMode: transparent ? 'transparent' : 'default',
    hoverHeader: title === '',
    titleItems: [new PanelNotices({})],
    $data: queries && new SceneDataTransformer({ $data: queries, transformations }),
  });
}

function toVariable(variable: Variable): SceneVariable {
  const { name, label, description, hide, skipUrlSync, current, regex = '' } = variable;
  const common = { name, label, description, hide, skipUrlSync };
  const text = typeof variable.query === 'string' ? variable.query : '';
  const multiValue = {
    ...common,
    value: current?.value ?? (variable.multi ? [] : ''),
    text: current?.text ?? (variable.multi ? [] : ''),
    isMulti: variable.multi,
    includeAll: variable.includeAll,
    allValue: variable.allValue || undefined,
    defaultToAll: Boolean(variable.includeAll),
  };
  switch (variable.type) {
    case 'query':
      return new QueryVariable({
        ...multiValue,
        query: variable.query,
        datasource: variable.datasource,
        regex,
        refresh: variable.refresh,
        sort: variable.sort,
      });
    case 'custom':
      return new CustomVariable({ ...multiValue, query: text });
    case 'datasource':
      return new DataSourceVariable({ ...multiValue, pluginId: text, regex });
    case 'interval':
      return new IntervalVariable({
        ...common,
        value: String(current?.value ?? ''),
        intervals: text.split(',').map((interval) => interval.trim()),
        autoEnabled: variable.auto,
        autoMinInterval: variable.auto_min,
        autoStepCount: variable.auto_count,
      });
    case 'textbox':
      return new TextBoxVariable({ ...common, value: String(current?.value ?? text) });
    case 'constant':
      return new ConstantVariable({ ...common, value: text });
    default:
      throw new Error(`Variable ${name} has the type ${variable.type}, which the preview does not render.`);
  }
}
