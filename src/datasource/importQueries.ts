import { type DataQuery } from '@grafana/schema';

import { migrate } from './migrate';
import { defaultQuery } from './query';
import { type GpuQuery } from './types';

interface Expression extends Omit<DataQuery, 'queryType'> {
  expr: string;
  format?: unknown;
}

/** What queries in the language of logs or traces are told by. */
const OTHER_LANGUAGES = /^(loki|tempo|.*logs?)(-datasource)?$/;

/**
 * The queries of another data source in ours: an expression of PromQL stays what it is, with its legend, step and exemplars.
 * Anything else becomes a new query.
 */
export function importQueries(queries: DataQuery[], originType: string): GpuQuery[] {
  const promql = !OTHER_LANGUAGES.test(originType);
  return queries.map((query) =>
    promql && isExpression(query) ? imported(query) : { refId: query.refId, hide: query.hide, ...defaultQuery() }
  );
}

function imported(query: Expression): GpuQuery {
  const { format, ...rest } = query;
  return migrate({ ...rest, format: format === 'table' ? format : undefined, queryType: 'promql' });
}

function isExpression(query: DataQuery | Expression): query is Expression {
  return 'expr' in query && typeof query.expr === 'string' && query.expr.trim() !== '';
}
