import {
  type AdHocVariableFilter,
  type CoreApp,
  type DataQueryRequest,
  type DataQueryResponse,
  type DataSourceApi,
  type DataSourceGetTagValuesOptions,
  type DataSourceInstanceSettings,
  type DataSourceWithToggleableQueryFiltersSupport,
  type MetricFindValue,
  type QueryFilterOptions,
  type QueryFixAction,
  type ScopedVars,
  type TimeRange,
  type ToggleFilterAction,
} from '@grafana/data';
import {
  config,
  DataSourceWithBackend,
  getGrafanaLiveSrv,
  getTemplateSrv,
  type GrafanaLiveSrv,
  type TemplateSrv,
} from '@grafana/runtime';
import { type DataQuery } from '@grafana/schema';
import { asyncScheduler, map, type Observable, throttleTime } from 'rxjs';

import { annotationSupport, isForMarks, MARKS_EVERY_MS, waitsForMarks, withEnds } from './annotations';
import { dimensionOf } from './filters/dimensions';
import { addFilter, hasFilter, toggleFilter, withFilters } from './filters/filters';
import { parentsOfFilters, tagKeys, tagValues } from './filters/tags';
import { importQueries } from './importQueries';
import { applyVariables, usesVariables } from './interpolate/applyVariables';
import { expandScope } from './interpolate/scope';
import { mayStream } from './live/continuation';
import { joinLive } from './live/joinLive';
import { LiveSide } from './live/LiveSide';
import { migrate } from './migrate';
import { defaultQuery, displayText, isComplete, SCOPE_KEYS } from './query';
import {
  type AgentStatus,
  type Coverage,
  type GpuQuery,
  type GpuSettings,
  type GpuVariableQuery,
  type Metric,
  type NoticeLevel,
  type ParentKey,
  type Parents,
  type Scope,
  type VariableKind,
  type VariableValues,
} from './types';
import { parseVariableQuery } from './variables/parseVariableQuery';
import { GpuVariableSupport } from './variables/GpuVariableSupport';

/** The resources' parameters for the parents of a list. */
const PARAMETERS = {
  clusters: 'cluster',
  nodes: 'node',
  gpus: 'gpu',
  models: 'model',
  namespaces: 'namespace',
  pods: 'pod',
  jobs: 'job',
} as const satisfies Record<ParentKey, string>;

const PARENT_LISTS = SCOPE_KEYS.filter((key) => key !== 'migs');

/** The browser's half of the data source: variables in, streams joined on, the rest is the backend's. */
export class DataSource
  extends DataSourceWithBackend<GpuQuery, GpuSettings>
  implements DataSourceWithToggleableQueryFiltersSupport<GpuQuery>
{
  private readonly noticeLevel: NoticeLevel;
  private catalogue: Promise<Metric[]> | undefined;
  private live: LiveSide | undefined;

  constructor(
    instanceSettings: DataSourceInstanceSettings<GpuSettings>,
    private readonly templateSrv: TemplateSrv = getTemplateSrv()
  ) {
    super(instanceSettings);
    this.noticeLevel = instanceSettings.jsonData?.noticeLevel ?? 'info';
    this.variables = new GpuVariableSupport(this);
    this.annotations = annotationSupport;
  }

  override query(request: DataQueryRequest<GpuQuery>): Observable<DataQueryResponse> {
    return isForMarks(request)
      ? this.answers(request).pipe(
          throttleTime(MARKS_EVERY_MS, asyncScheduler, { leading: true, trailing: true }),
          map(withEnds)
        )
      : this.answers(request);
  }

  private answers(request: DataQueryRequest<GpuQuery>): Observable<DataQueryResponse> {
    if (config.publicDashboardAccessToken || !mayStream(request) || waitsForMarks(request)) {
      return super.query(request);
    }
    return joinLive({
      request,
      ask: (current) => super.query(current),
      live: this.liveSide(),
      uid: this.uid,
      showWarnings: this.noticeLevel !== 'error',
    });
  }

  override filterQuery(query: GpuQuery): boolean {
    return isComplete(migrate(query));
  }

  override getDefaultQuery(_app: CoreApp): Partial<GpuQuery> {
    return defaultQuery();
  }

  override getQueryDisplayText(query: GpuQuery): string {
    return displayText(query);
  }

  override applyTemplateVariables(query: GpuQuery, scopedVars: ScopedVars, filters?: AdHocVariableFilter[]): GpuQuery {
    return withFilters(applyVariables(migrate(query), this.templateSrv, scopedVars), filters);
  }

  override interpolateVariablesInQueries(
    queries: GpuQuery[],
    scopedVars: ScopedVars,
    filters?: AdHocVariableFilter[]
  ): GpuQuery[] {
    return queries.map((query) => ({
      ...withFilters(applyVariables(migrate(query), this.templateSrv, scopedVars), filters),
      datasource: this.getRef(),
    }));
  }

  /**
   * The queries of a data source that the user comes from. Grafana would offer only the first selector's labels to
   * importFromAbstractQueries; this way a Prometheus query keeps its whole expression.
   */
  override async importQueries(queries: DataQuery[], origin: DataSourceApi<DataQuery>): Promise<GpuQuery[]> {
    return importQueries(queries, origin.type);
  }

  /** Puts a filter on that is chosen in Explore. */
  override modifyQuery(query: GpuQuery, { type, options }: QueryFixAction): GpuQuery {
    const chosen = { key: options?.key ?? '', value: options?.value ?? '' };
    switch (type) {
      case 'ADD_FILTER':
        return addFilter(query, '=', chosen);
      case 'ADD_FILTER_OUT':
        return addFilter(query, '!=', chosen);
      default:
        return query;
    }
  }

  toggleQueryFilter(query: GpuQuery, { type, options }: ToggleFilterAction): GpuQuery {
    return toggleFilter(query, type === 'FILTER_FOR' ? '=' : '!=', { key: options.key, value: options.value });
  }

  queryHasFilter(query: GpuQuery, { key, value }: QueryFilterOptions): boolean {
    return hasFilter(query, { key, value });
  }

  /** What the dashboard's ad-hoc filters can be about. */
  override async getTagKeys(): Promise<MetricFindValue[]> {
    return tagKeys();
  }

  override async getTagValues({
    key,
    filters,
    timeRange,
  }: DataSourceGetTagValuesOptions<GpuQuery>): Promise<MetricFindValue[]> {
    const dimension = dimensionOf(key);
    if (!dimension) {
      return [];
    }
    const { values } = await this.listValues(dimension.kind, parentsOfFilters(filters ?? [], key), timeRange);
    return tagValues(dimension, values);
  }

  override targetContainsTemplate(query: GpuQuery): boolean {
    return usesVariables(query, this.templateSrv);
  }

  /** The values of a variable's query, which may be the shorthand that provisioning files write. */
  override async metricFindQuery(query: unknown, options?: { scopedVars?: ScopedVars }): Promise<MetricFindValue[]> {
    const { values } = await this.variableValues(parseVariableQuery(query), options?.scopedVars ?? {});
    return values;
  }

  /** What a variable's query lists, with the dashboard's variables replaced in its parents. */
  async variableValues(query: GpuVariableQuery, scopedVars: ScopedVars, range?: TimeRange): Promise<VariableValues> {
    return this.listValues(query.kind, this.expanded(query, scopedVars), range);
  }

  /** Values of a kind under parents, as the backend knows them now or in a time range. */
  async listValues(kind: VariableKind, parents: Parents, range?: TimeRange): Promise<VariableValues> {
    const bounds = range && { from: range.from.valueOf(), to: range.to.valueOf() };
    return this.getResource<VariableValues>('variables', { kind, ...parameters(parents), ...bounds });
  }

  /** Which metrics there are of a scope now, with the dashboard's variables replaced in it. */
  async coverage(scope: Partial<Scope>): Promise<Coverage> {
    return this.getResource<Coverage>('coverage', parameters(this.expanded(scope, {})));
  }

  private expanded(lists: Parents, scopedVars: ScopedVars): Parents {
    return Object.fromEntries(
      PARENT_LISTS.map((key) => [key, expandScope(lists[key], this.templateSrv, scopedVars)] as const)
    );
  }

  /** The catalogue of metrics. Asked for once; again after a failure. */
  async metrics(): Promise<Metric[]> {
    this.catalogue ??= this.getResource<Metric[]>('metrics').catch((error: unknown) => {
      this.catalogue = undefined;
      throw error;
    });
    return this.catalogue;
  }

  /** The agents that the backend knows, and how each is reached. */
  async agents(): Promise<AgentStatus[]> {
    return this.getResource<AgentStatus[]>('agents');
  }

  private liveSide(): LiveSide | undefined {
    const service: GrafanaLiveSrv | undefined = getGrafanaLiveSrv();
    if (config.liveEnabled === false || !service) {
      return undefined;
    }
    this.live ??= new LiveSide(service);
    return this.live;
  }
}

/** The lists of a scope as parameters of a resource; empty ones restrict nothing and are left out. */
function parameters(lists: Parents): Record<string, string[]> {
  const named = PARENT_LISTS.map((key) => [PARAMETERS[key], lists[key] ?? []] as const);
  return Object.fromEntries(named.filter(([, values]) => values.length > 0));
}
