import { type DataSourceJsonData, type QueryResultMetaNotice } from '@grafana/data';
import { type DataQuery } from '@grafana/schema';

/** What a query asks for. `metric` goes by meaning, `promql` by expression; the others answer with tables and judgements. */
export type QueryType = 'metric' | 'promql' | TableQueryType | InsightQueryType;

/** Lists of what is there, of what happened, and of what can be asked for. */
export type TableQueryType = 'coverage' | 'inventory' | 'processes' | 'events';

/** Judgements: which GPU needs somebody, why, and what to do. */
export type InsightQueryType =
  'bottleneck' | 'health' | 'efficiency' | 'forecast' | 'anomaly' | 'stragglers' | 'memory' | 'topology';

/** What a judgement takes beside the scope; its keys are the backend's to check. */
export type InsightOptions = Record<string, unknown>;

/**
 * How several devices or workloads become one series. Empty: what the metric's catalogue entry calls its first aggregation.
 * Quantiles are for histograms, and p95 also for what recording rules keep of devices.
 */
export type Aggregation = '' | 'avg' | 'max' | 'min' | 'sum' | 'p50' | 'p95' | 'p99';

/** One series for each of these. `identity` is a GPU or a MIG instance; of a workload's metric it is a server or a process. */
export type AggregateBy = 'identity' | 'node' | 'cluster' | 'model' | 'namespace' | 'pod' | 'job';

/** Where values come from. `auto` joins both sides. */
export type Source = 'auto' | 'history' | 'live';

/** `matrix` is a table of every device with its newest value. */
export type Format = 'time_series' | 'table' | 'matrix';

export type ReduceMode = 'auto' | 'bands' | 'topk' | 'bottomk' | 'heatmap' | 'all';

export type RankBy = 'avg' | 'max' | 'min' | 'last';

/** What an answer of very many lines is made into. */
export interface Reduce {
  mode?: ReduceMode;
  /** Of `topk` and `bottomk`. */
  k?: number;
  by?: RankBy;
}

export type FilterOperator = '=' | '!=' | '=~' | '!~' | '=|' | '!=|';

/** A condition on a label, as dashboards' ad-hoc filters are. */
export interface Filter {
  key: string;
  operator: FilterOperator;
  value?: string;
  /** Of `=|` and `!=|`. */
  values?: string[];
}

/** What a query is restricted to. Entries are exact values, or `/re/` for a regular expression; empty means all. */
export interface Scope {
  clusters: string[];
  nodes: string[];
  /** UUIDs. */
  gpus: string[];
  /** `<GPU UUID>/<GPU instance id>`. */
  migs: string[];
  models: string[];
  namespaces: string[];
  pods: string[];
  jobs: string[];
}

/** The query as dashboards store it: flat, versioned, everything optional but what the type needs. */
export interface GpuQuery extends DataQuery, Partial<Scope> {
  queryType?: QueryType;
  schemaVersion?: number;

  metric?: string;
  aggregation?: Aggregation;
  aggregateBy?: AggregateBy;
  source?: Source;
  /** Whether a panel that ends at now goes on by the stream. Default true. */
  live?: boolean;
  reduce?: Reduce;
  /** How many lines are very many. */
  maxSeries?: number;

  expr?: string;
  /** Adds the scope to the selectors of an expression that has no `$__gpu_filter`. */
  injectScope?: boolean;
  exemplars?: boolean;
  adhocFilters?: Filter[];

  format?: Format;
  instant?: boolean;
  legend?: string;
  /** A duration with its unit, such as `5s`. */
  minStep?: string;

  /** Of tables and judgements. */
  maxRows?: number;
  /** Of `events`. */
  kinds?: string[];
  minDuration?: string;
  /** Of a judgement. */
  options?: InsightOptions;
}

export type AuthMethod = 'none' | 'basic' | 'bearer';

/** How a server or an agent is spoken to; secrets are in secureJsonData. */
export interface Access {
  auth?: AuthMethod;
  user?: string;
  /** Names of headers. */
  headers?: string[];
  tlsSkipVerify?: boolean;
  serverName?: string;
  secureSocksProxy?: boolean;
}

/** A Prometheus-compatible server. Durations carry their unit. */
export interface EndpointSettings extends Access {
  /** Names the endpoint in messages and its secrets in secureJsonData. */
  id: string;
  url: string;
  role?: 'replica' | 'shard';
  oauthPassThru?: boolean;
  timeout?: string;
  /** How many requests may run at the same time. */
  concurrency?: number;
  /** One of the replica labels, from before there could be several. */
  replicaLabel?: string;
  replicaLabels?: string[];
  compression?: Compression;
}

export type Compression = 'auto' | 'on' | 'off';

export interface ClusterSettings {
  name: string;
  endpoints: EndpointSettings[];
}

export type Discovery = 'prometheus' | 'static' | 'off';

export interface StaticAgentSettings {
  cluster: string;
  /** `host:port`. */
  address: string;
}

/** A name whose records are agents. */
export interface DnsAgentSettings {
  cluster?: string;
  /** `dns+host:port`, `dnssrv+name`, `dnssrvnoa+name`, or the name of an SRV record. */
  name: string;
  /** How often it is looked up, with its unit. */
  interval?: string;
}

/** What a file for Prometheus's file_sd_configs holds. */
export interface AgentFileSettings {
  name?: string;
  cluster?: string;
  /** Its text in YAML or JSON, or the list itself. */
  content: unknown;
}

/** How agents are spoken to. */
export interface AgentAccess extends Access {
  scheme?: 'http' | 'https';
}

/** Agents that are reached in a way of their own; their secrets start with `agentgroup_<id>_`. */
export interface AgentGroupSettings extends AgentAccess {
  id: string;
  hosts: string[];
}

export interface AgentSettings extends AgentAccess {
  discovery?: Discovery;
  static?: StaticAgentSettings[];
  dns?: DnsAgentSettings[];
  files?: AgentFileSettings[];
  /** Host names, `*.domain`, addresses and networks that may be dialled. Empty: none. */
  allow?: string[];
  groups?: AgentGroupSettings[];
  /** Of memory for samples. */
  maxBytes?: number;
}

/** Who knows what fires now; its secrets start with `alertmanager_<id>_`. */
export interface AlertmanagerSettings extends Access {
  id: string;
  url: string;
  /** Of alerts that have no label `cluster`. */
  cluster?: string;
  timeout?: string;
}

export interface CacheSettings {
  /** Of memory; 0 for no cache. */
  maxBytes?: number;
  freshness?: string;
  remote?: {
    type?: 'memcached' | 'redis';
    addresses?: string[];
    user?: string;
    database?: number;
    tls?: boolean;
    timeout?: string;
  };
}

/** What judgements are told. */
export interface InsightSettings {
  /** For each judgement the limits that differ from its defaults; or the text of it in JSON. */
  limits?: Record<string, unknown> | string;
  currency?: string;
  prices?: Array<{ model?: string; cluster?: string; perGPUHour?: number; currency?: string }>;
  energy?: { pricePerKWh?: number; carbonKgPerKWh?: number; pue?: number };
  budgets?: Array<{ name?: string; month?: number; namespace?: string }>;
  /** Labels that name what nodes share; empty lists look for none. */
  places?: Partial<Record<'rack' | 'power' | 'fabric' | 'leaf', string[]>>;
  /** Times in which nobody is to be bothered; `from` and `until` as RFC 3339 has them. */
  maintenance?: Array<Partial<Record<'cluster' | 'node' | 'gpu' | 'from' | 'until' | 'by' | 'why', string>>>;
  classes?: Array<{ class?: 'training' | 'inference'; namespace?: string; pod?: string; job?: string; user?: string }>;
}

export type NoticeLevel = 'info' | 'warning' | 'error';

/** jsonData of the data source. */
export interface GpuSettings extends DataSourceJsonData {
  clusters?: ClusterSettings[];
  scrapeInterval?: string;
  agents?: AgentSettings;
  noticeLevel?: NoticeLevel;
  failedEndpoint?: NoticeLevel;
  maxSeries?: number;
  compression?: Compression;
  cache?: CacheSettings;
  live?: { maxStreams?: number; maxStreamsPerUser?: number };
  /** Exporters of one's own: a list, or its text in JSON. */
  dialects?: unknown;
  insight?: InsightSettings;
  alertmanagers?: AlertmanagerSettings[];
  /** Grafana's own: whether it hands over the identity of whoever asks. */
  oauthPassThru?: boolean;
}

/** secureJsonData: `endpoint_<id>_password`, `…_token`, `…_caCert`, `…_tlsClientCert`, `…_tlsClientKey`, and `agents_…` alike. */
export type GpuSecrets = Record<string, string>;

/** A row of the catalogue, from the resource `metrics`. */
export interface Metric {
  name: string;
  unit: string;
  kind: 'gauge' | 'counter' | 'histogram';
  family: string;
  help: string;
  caveat: string;
  nvidiaSmi: string;
  aggregations: Aggregation[];
  /** What it is of. */
  subject: 'device' | 'workload';
}

export type CoverageStatus = 'ok' | 'partial' | 'missing' | 'doubtful';

/** A row of the resource `coverage`: where a metric of the catalogue comes from, or what to do to get it. */
export interface CoverageRow {
  cluster: string;
  endpoint: string;
  metric: string;
  family: string;
  unit: string;
  subject: 'device' | 'workload';
  status: CoverageStatus;
  covered: number;
  total: number;
  exporters: number;
  dialect: string;
  series: string;
  seriesUnit: string;
  why: string;
  passedOver: string;
  enable: string;
  type: string;
  help: string;
}

/** The answer of the resource `coverage`. */
export interface Coverage {
  rows: CoverageRow[];
  notices: Notice[];
}

/** What template variables and the editor's scope fields can list. */
export type VariableKind = 'cluster' | 'node' | 'gpu' | 'mig' | 'model' | 'profile' | 'namespace' | 'pod' | 'job';

/** Where a variable's query keeps the parents that narrow it. */
export type ParentKey = 'clusters' | 'nodes' | 'gpus' | 'models' | 'namespaces' | 'pods' | 'jobs';

/** Parents that narrow a list of values. */
export type Parents = Partial<Record<ParentKey, string[]>>;

export interface VariableValue {
  value: string;
  text: string;
}

export interface Notice {
  severity: NonNullable<QueryResultMetaNotice['severity']>;
  text: string;
}

/** The answer of the resource `variables`. */
export interface VariableValues {
  values: VariableValue[];
  notices: Notice[];
}

/** A template variable's query: a kind, under parents. */
export interface GpuVariableQuery extends DataQuery, Parents {
  kind: VariableKind;
}

export type AgentState = 'idle' | 'connecting' | 'connected' | 'lagging' | 'stale' | 'refused' | 'unreachable';

/** A row of the resource `agents`. */
export interface AgentStatus {
  cluster: string;
  node: string;
  address: string;
  state: AgentState;
  /** When the state began, RFC 3339; absent before anything was tried. */
  since?: string;
  error: string;
  version: string;
  /** `nvml` or `simulate`. */
  source: string;
  periodMs: number;
  clockOffsetMs: number;
  devices: number;
  /** The sources of discovery that name it, such as `static, prometheus`. */
  found?: string;
  /** When its newest sample came, RFC 3339. */
  lastSeen?: string;
  /** Samples that are not in its series, since it was connected to. */
  missed?: number;
  repeated?: number;
  reordered?: number;
  late?: number;
  future?: number;
}

/** The answer of the resource `agents/page?state=&cluster=&search=&limit=&offset=`. */
export interface AgentsPage {
  agents: AgentStatus[];
  /** Agents on all pages. */
  matched: number;
  /** How many of all agents are in each state. */
  states: Partial<Record<AgentState, number>>;
  sources: Array<{ name: string; found: number; at?: string; error: string; asking: boolean }>;
  notices: Notice[];
}

/** `meta.custom.live` of a frame that the stream continues. */
export interface LiveContinuation {
  /** Channel path below `ds/<data source uid>/`; a hash of `data`. */
  path: string;
  /** What the backend streams; it goes along with the subscription and is checked against the path. */
  data: unknown;
  stepMs: number;
  rangeMs: number;
  /** When the answer was made, in ms of the server's clock. Absent where rows are not told apart by time. */
  atMs?: number;
  /**
   * How packets go on with the frame. Absent: rows of a time series. `replace`: each is the whole table. `append`: rows of a
   * table that come after those there are. `cells`: values of the table's last column.
   */
  mode?: LiveMode;
}

export type LiveMode = 'replace' | 'append' | 'cells';
