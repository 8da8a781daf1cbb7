import {
  createDataFrame,
  CustomVariableSupport,
  type DataQueryRequest,
  type DataQueryResponse,
  FieldType,
} from '@grafana/data';
import { defer, map, type Observable } from 'rxjs';

import { type DataSource } from '../DataSource';
import { type GpuQuery, type GpuSettings, type GpuVariableQuery, type VariableValues } from '../types';
import { parseVariableQuery } from './parseVariableQuery';
import { VariableQueryEditor } from './VariableQueryEditor';

/** Template variables over the fleet: clusters, nodes, GPUs, MIG instances and profiles, models, and what runs on them. */
export class GpuVariableSupport extends CustomVariableSupport<DataSource, GpuVariableQuery, GpuQuery, GpuSettings> {
  editor = VariableQueryEditor;

  constructor(private readonly datasource: DataSource) {
    super();
  }

  /** The target may be a string: Grafana passes on what a provisioned dashboard holds. */
  override query(request: DataQueryRequest<GpuVariableQuery>): Observable<DataQueryResponse> {
    const { targets, scopedVars, range } = request;
    return defer(() => this.datasource.variableValues(parseVariableQuery(targets[0]), scopedVars, range)).pipe(
      map(toResponse)
    );
  }
}

function toResponse({ values, notices }: VariableValues): DataQueryResponse {
  return {
    data: [
      createDataFrame({
        fields: [
          { name: 'text', type: FieldType.string, values: values.map(({ text }) => text) },
          { name: 'value', type: FieldType.string, values: values.map(({ value }) => value) },
        ],
        meta: { notices },
      }),
    ],
  };
}
