import {
  type CoreApp,
  type DataQueryRequest,
  type DataQueryResponse,
  type DataSourceInstanceSettings,
  type MetricFindValue,
  type ScopedVars,
} from '@grafana/data';
import {
  config,
  DataSourceWithBackend,
  getGrafanaLiveSrv,
  getTemplateSrv,
  type GrafanaLiveSrv,
  type TemplateSrv,
} from '@grafana/runtime';
import { type Observable } from 'rxjs';

import { applyVariables, usesVariables } from './interpolate/applyVariables';
import { expandScope } from './interpolate/scope';
import { mayStream } from './live/continuation';
import { joinLive } from './live/joinLive';
import { LiveSide } from './live/LiveSide';
import { defaultQuery, displayText, isComplete, queryTypeOf } from './query';
import {
  type AgentStatus,
  type GpuQuery,
  type GpuSettings,
  type GpuVariableQuery,
  type Metric,
  type NoticeLevel,
  type VariableKind,
  type VariableValues,
} from './types';
import { parseVariableQuery } from './variables/parseVariableQuery';
import { GpuVariableSupport } from './variables/GpuVariableSupport';

/** Parents that narrow a list of values. */
export type VariableFilters = Pick<GpuVariableQuery, 'clusters' | 'nodes' | 'gpus'>;

/** The browser's half of the data source: variables in, streams joined on, the rest is the backend's. */
export class DataSource extends DataSourceWithBackend<GpuQuery, GpuSettings> {
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
    this.annotations = {};
  }

  override query(request: DataQueryRequest<GpuQuery>): Observable<DataQueryResponse> {
    if (config.publicDashboardAccessToken || !mayStream(request)) {
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
    return isComplete(query);
  }

  override getDefaultQuery(_app: CoreApp): Partial<GpuQuery> {
    return defaultQuery();
  }

  override getQueryDisplayText(query: GpuQuery): string {
    return displayText(query);
  }

  override applyTemplateVariables(query: GpuQuery, scopedVars: ScopedVars): GpuQuery {
    return { ...applyVariables(query, this.templateSrv, scopedVars), queryType: queryTypeOf(query) };
  }

  override interpolateVariablesInQueries(queries: GpuQuery[], scopedVars: ScopedVars): GpuQuery[] {
    return queries.map((query) => ({
      ...applyVariables(query, this.templateSrv, scopedVars),
      datasource: this.getRef(),
    }));
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
  async variableValues(query: GpuVariableQuery, scopedVars: ScopedVars): Promise<VariableValues> {
    return this.listValues(query.kind, {
      clusters: expandScope(query.clusters, this.templateSrv, scopedVars),
      nodes: expandScope(query.nodes, this.templateSrv, scopedVars),
      gpus: expandScope(query.gpus, this.templateSrv, scopedVars),
    });
  }

  /** Values of a kind under parents, as the backend knows them now. */
  async listValues(kind: VariableKind, filters: VariableFilters): Promise<VariableValues> {
    return this.getResource<VariableValues>('variables', {
      kind,
      cluster: filters.clusters ?? [],
      node: filters.nodes ?? [],
      gpu: filters.gpus ?? [],
    });
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
