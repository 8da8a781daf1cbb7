import { type InsightOptions, type InsightQueryType, type QueryType, type TableQueryType } from './types';

export type TypeGroup = 'Explore' | 'Fleet' | 'Judgement';

/** A query type as people choose it. */
export interface QueryTypeInfo {
  type: QueryType;
  group: TypeGroup;
  label: string;
  /** What its answer says, in one line. */
  meaning: string;
  /** Options that a new query of the type starts with, where it would not draw without. */
  options?: InsightOptions;
}

const MOST_TELLING_METRIC = 'gpu_power_watts';

/** The types that the backend answers, in the order of the list; a test compares them with package query. */
export const QUERY_TYPES: QueryTypeInfo[] = [
  {
    type: 'metric',
    group: 'Explore',
    label: 'Metric',
    meaning: 'A GPU metric by its meaning, past and present joined',
  },
  {
    type: 'promql',
    group: 'Explore',
    label: 'PromQL',
    meaning: 'An expression of your own, with GPU macros',
  },
  {
    type: 'inventory',
    group: 'Fleet',
    label: 'Inventory',
    meaning: 'Every GPU and MIG instance: what it is, whose it is, how it is now',
  },
  {
    type: 'processes',
    group: 'Fleet',
    label: 'Processes',
    meaning: 'What runs on the GPUs now, with its owner and its share',
  },
  {
    type: 'events',
    group: 'Fleet',
    label: 'Events',
    meaning: 'XID errors, throttling, memory errors and changes of MIG; also as annotations',
  },
  {
    type: 'coverage',
    group: 'Fleet',
    label: 'Coverage',
    meaning: 'Which metrics there are here, from where, and how to get the others',
  },
  {
    type: 'bottleneck',
    group: 'Judgement',
    label: 'Bottleneck',
    meaning: 'What holds each GPU and job back, over time',
  },
  {
    type: 'health',
    group: 'Judgement',
    label: 'Health',
    meaning: 'What is wrong with each GPU and node, the worst first, and what to do',
  },
  {
    type: 'efficiency',
    group: 'Judgement',
    label: 'Efficiency',
    meaning: 'What became of the time of GPUs, and what it cost',
  },
  {
    type: 'forecast',
    group: 'Judgement',
    label: 'Forecast',
    meaning: 'What values will be, and when they reach a limit',
    options: { of: 'memory' },
  },
  {
    type: 'anomaly',
    group: 'Judgement',
    label: 'Anomaly',
    meaning: 'What is not as it was, or not as its peers are',
    options: { metric: MOST_TELLING_METRIC },
  },
  {
    type: 'stragglers',
    group: 'Judgement',
    label: 'Stragglers',
    meaning: 'Which ranks, GPUs and nodes slow a training job down',
  },
  {
    type: 'memory',
    group: 'Judgement',
    label: 'Memory',
    meaning: 'How much of a GPU’s memory is left, what grows, and what batch would fit',
  },
  {
    type: 'topology',
    group: 'Judgement',
    label: 'Topology',
    meaning: 'How GPUs and instances hang together, and whether they are well placed',
  },
];

const TABLE_TYPES: QueryType[] = ['inventory', 'processes', 'events', 'coverage'] satisfies TableQueryType[];

/** What is known of a type; undefined for one that this version does not know. */
export function queryTypeInfo(type: QueryType): QueryTypeInfo | undefined {
  return QUERY_TYPES.find((info) => info.type === type);
}

/** Whether a type answers with a list of what there is or what happened. */
export function isTableType(type: QueryType): type is TableQueryType {
  return TABLE_TYPES.includes(type);
}

const INSIGHT_TYPES: QueryType[] = [
  'bottleneck',
  'health',
  'efficiency',
  'forecast',
  'anomaly',
  'stragglers',
  'memory',
  'topology',
] satisfies InsightQueryType[];

/** Whether a type judges. */
export function isInsightType(type: QueryType): type is InsightQueryType {
  return INSIGHT_TYPES.includes(type);
}
