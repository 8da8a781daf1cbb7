import {
  type DataSourceRef,
  type DataTransformerConfig,
  type FieldConfigSource,
  type VariableRefresh,
  type VariableSort,
} from '@grafana/data';
import { type SceneDataQuery } from '@grafana/scenes';

/** The parts of a dashboard's JSON (schema v1) that the preview renders. */
export interface Dashboard {
  uid: string;
  title: string;
  description?: string;
  tags?: string[];
  time?: { from: string; to: string };
  timezone?: string;
  refresh?: string | false;
  timepicker?: { refresh_intervals?: string[] };
  graphTooltip?: 0 | 1 | 2;
  liveNow?: boolean;
  panels?: Panel[];
  templating?: { list?: Variable[] };
}

export interface Panel {
  id: number;
  type: string;
  title?: string;
  description?: string;
  transparent?: boolean;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: DataSourceRef;
  targets?: SceneDataQuery[];
  options?: Record<string, unknown>;
  fieldConfig?: FieldConfigSource;
  transformations?: DataTransformerConfig[];
  maxDataPoints?: number;
  interval?: string;
  /** Of a row: whether its panels are hidden; they are then listed in the row. */
  collapsed?: boolean;
  panels?: Panel[];
}

export interface Variable {
  type: string;
  name: string;
  label?: string;
  description?: string;
  hide?: 0 | 1 | 2;
  skipUrlSync?: boolean;
  query?: string | SceneDataQuery;
  datasource?: DataSourceRef;
  regex?: string;
  refresh?: VariableRefresh;
  sort?: VariableSort;
  multi?: boolean;
  includeAll?: boolean;
  allValue?: string;
  auto?: boolean;
  auto_min?: string;
  auto_count?: number;
  current?: { value?: string | string[]; text?: string | string[] };
}
