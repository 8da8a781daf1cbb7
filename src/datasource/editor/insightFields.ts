import { type ComboboxOption } from '@grafana/ui';

import { type InsightQueryType } from '../types';

interface Common {
  /** The key among the query's options. */
  key: string;
  label: string;
  tooltip?: string;
  /** Read by alert rules and expressions alone, so shown only there. */
  ofRule?: boolean;
  /** Shown only while another option has one of these values; undefined stands for its absence. */
  when?: { key: string; is: unknown[] };
}

export interface ChoiceField extends Common {
  kind: 'choice';
  /** The empty value leaves the option out. */
  choices: ComboboxOption[];
}

export interface ListField extends Common {
  kind: 'list';
  placeholder: string;
  choices: ComboboxOption[];
}

export interface NumberOption extends Common {
  kind: 'number';
  placeholder?: string;
  least?: number;
  most?: number;
  whole?: boolean;
}

export interface FlagField extends Common {
  kind: 'flag';
}

export interface MetricField extends Common {
  kind: 'metric';
}

/** A MIG profile, of those that there are. */
export interface ProfileField extends Common {
  kind: 'profile';
  placeholder: string;
}

/** An option of a judgement that has a field of its own. The others are written as JSON. */
export type InsightField = ChoiceField | ListField | NumberOption | FlagField | MetricField | ProfileField;

const words = (...values: string[]): ComboboxOption[] => values.map((value) => ({ value, label: value }));
const choice = (value: string, label: string, description?: string): ComboboxOption => ({ value, label, description });

const VALUE: ChoiceField = {
  kind: 'choice',
  key: 'value',
  label: 'Value',
  tooltip: 'What of the samples of one step counts',
  choices: [
    choice('', 'Mean'),
    choice('max', 'Maximum'),
    choice('min', 'Minimum'),
    choice('rise', 'Rise', 'How much it grew'),
  ],
};

const VERDICTS = words(
  'idle',
  'thermal',
  'power-brake',
  'power-limited',
  'memory-capacity',
  'input-bound',
  'interconnect',
  'waiting-on-rank',
  'memory-bandwidth',
  'compute',
  'launch-bound',
  'mixed',
  'unknown'
);

const BOTTLENECK: InsightField[] = [
  {
    kind: 'choice',
    key: 'of',
    label: 'Of',
    choices: [choice('', 'GPUs and jobs'), choice('gpus', 'GPUs', 'And MIG instances'), choice('jobs', 'Jobs')],
  },
  {
    kind: 'choice',
    key: 'show',
    label: 'Show',
    tooltip: 'One part of the answer, or all',
    choices: [
      choice('', 'All'),
      choice('timeline', 'Timeline', 'A line of verdicts for each subject, for a state timeline'),
      choice('summary', 'Summary', 'A row for each subject with its verdict now and why, for a table'),
      choice('reasons', 'Reasons', 'A row for each interval of the timeline, for a table'),
    ],
  },
  {
    kind: 'choice',
    key: 'verdict',
    label: 'Verdict',
    tooltip: 'The one verdict whose share the rule reads',
    ofRule: true,
    choices: [choice('', 'Every verdict'), ...VERDICTS],
  },
];

const HEALTH: InsightField[] = [
  {
    kind: 'choice',
    key: 'least',
    label: 'Severity',
    tooltip: 'The lowest severity that has a row',
    choices: [
      choice('', 'All'),
      choice('info', 'Info and worse'),
      choice('unknown', 'Unknown and worse'),
      choice('warning', 'Warning and worse'),
      choice('critical', 'Critical'),
    ],
  },
  {
    kind: 'choice',
    key: 'show',
    label: 'Show',
    choices: [
      choice('', 'GPUs and incidents'),
      choice('gpus', 'GPUs', 'A row for each GPU, MIG instance and node, the worst first'),
      choice('incidents', 'Incidents', 'Faults that belong together'),
    ],
  },
  {
    kind: 'choice',
    key: 'value',
    label: 'Rule reads',
    ofRule: true,
    choices: [
      choice('', 'Severity', '0 ok, 1 unknown, 2 info, 3 warning, 4 critical'),
      choice('count', 'Count', 'How many there are of each severity'),
      choice('risk', 'Risk'),
      choice('incidents', 'Incidents', 'The severity of each'),
    ],
  },
];

const EFFICIENCY: InsightField[] = [
  {
    kind: 'list',
    key: 'by',
    label: 'Split by',
    placeholder: 'The total alone',
    choices: words('cluster', 'node', 'model', 'namespace', 'pod', 'job', 'user'),
  },
  {
    kind: 'choice',
    key: 'charge',
    label: 'Charge for',
    choices: [
      choice('', 'What was allocated', 'GPU-hours that the owner had, used or not'),
      choice('sm_active', 'Activity', 'GPU-hours times the activity of the SMs'),
      choice('memory', 'Memory', 'GiB-hours in use'),
      choice('energy', 'Energy', 'kWh, times PUE'),
      choice('max_requested_or_used', 'The larger of requested and used'),
    ],
  },
  {
    kind: 'choice',
    key: 'show',
    label: 'Show',
    choices: [
      choice('', 'All'),
      choice('groups', 'Groups'),
      choice('timeline', 'Timeline'),
      choice('idle', 'Idle', 'Who left GPUs idle, and since when'),
      choice('jobs', 'Jobs'),
      choice('budgets', 'Budgets'),
    ],
  },
  { kind: 'flag', key: 'series', label: 'Each step', tooltip: 'What each group is charged in each step' },
  {
    kind: 'number',
    key: 'jobGPUs',
    label: 'GPUs of a job',
    tooltip: 'The size of a job of one node that fragmentation is judged for',
    placeholder: '8',
    least: 1,
    most: 1024,
    whole: true,
  },
  {
    kind: 'choice',
    key: 'value',
    label: 'Rule reads',
    ofRule: true,
    choices: [choice('', 'Efficiency'), ...words('used', 'idle', 'unallocated', 'broken', 'cost', 'waste_per_hour')],
  },
];

const OF_METRIC = { key: 'of', is: [undefined, '', 'metric'] };

const FORECAST: InsightField[] = [
  {
    kind: 'choice',
    key: 'of',
    label: 'Of',
    choices: [
      choice('memory', 'Memory', 'When it is full'),
      choice('capacity', 'Capacity', 'When the GPUs of a model are all in use'),
      choice('temperature', 'Temperature', 'When clocks will be held down'),
      choice('errors', 'Errors', 'How memory errors grow'),
      choice('metric', 'A metric', 'Of your choice'),
    ],
  },
  { kind: 'metric', key: 'metric', label: 'Metric', when: OF_METRIC },
  { ...VALUE, when: OF_METRIC },
  {
    kind: 'number',
    key: 'limit',
    label: 'Limit',
    tooltip: 'The value whose crossing is looked for',
    placeholder: 'Automatic',
  },
  { kind: 'flag', key: 'below', label: 'Falls to it', tooltip: 'Values fall to the limit instead of rising to it' },
  {
    kind: 'number',
    key: 'horizonHours',
    label: 'Ahead',
    tooltip: 'Hours to look ahead',
    placeholder: 'Automatic',
    least: 0,
    most: 9600,
  },
  {
    kind: 'number',
    key: 'historyHours',
    label: 'Back',
    tooltip: 'Hours of the past to look at',
    placeholder: 'Automatic',
    least: 0,
    most: 1440,
  },
  {
    kind: 'choice',
    key: 'show',
    label: 'Show',
    choices: [choice('', 'All'), choice('lines', 'Lines'), choice('summary', 'Summary')],
  },
  {
    kind: 'choice',
    key: 'alert',
    label: 'Rule reads',
    ofRule: true,
    choices: [choice('', 'Value'), choice('hours', 'Hours', 'Until the limit is reached'), choice('slope', 'Slope')],
  },
];

const ANOMALY: InsightField[] = [
  { kind: 'metric', key: 'metric', label: 'Metric' },
  VALUE,
  {
    kind: 'choice',
    key: 'against',
    label: 'Against',
    choices: [
      choice('', 'Its own past'),
      choice('job', 'Its job', 'Other GPUs of the same job'),
      choice('model', 'Its model', 'Other GPUs of the same model that do work of the same class'),
    ],
  },
  {
    kind: 'number',
    key: 'hours',
    label: 'Newest hours',
    tooltip: 'The part of the range that is looked at',
    placeholder: '24',
    least: 0,
    most: 168,
  },
  {
    kind: 'choice',
    key: 'show',
    label: 'Show',
    choices: [
      choice('', 'All'),
      choice('lines', 'Lines', 'Values with the band that they are expected in'),
      choice('episodes', 'Episodes', 'A row for each time that values were odd'),
      choice('thresholds', 'Thresholds', 'Suggestions for alert rules'),
    ],
  },
  { kind: 'flag', key: 'learn', label: 'Suggest limits', tooltip: 'Suggests thresholds for alert rules' },
  { kind: 'flag', key: 'below', label: 'From below', tooltip: 'The suggested rule alerts when values are below' },
];

const STRAGGLERS: InsightField[] = [
  {
    kind: 'choice',
    key: 'show',
    label: 'Show',
    choices: [
      choice('', 'All'),
      choice('jobs', 'Jobs', 'A row for each job, the worst first'),
      choice('suspects', 'Suspects', 'The ranks, GPUs and nodes that slow a job down'),
      choice('skew', 'Skew', 'How far ranks are apart, over time'),
    ],
  },
  {
    kind: 'choice',
    key: 'value',
    label: 'Rule reads',
    ofRule: true,
    choices: [choice('', 'Severity'), ...words('skew', 'suspects', 'lost_gpu_hours', 'goodput')],
  },
];

const MEMORY: InsightField[] = [
  {
    kind: 'choice',
    key: 'show',
    label: 'Show',
    choices: [
      choice('', 'All'),
      choice('gpus', 'GPUs', 'A row for each GPU and MIG instance, the worst first'),
      choice('owners', 'Owners', 'Who holds how much'),
    ],
  },
  { kind: 'number', key: 'batch', label: 'Batch', tooltip: 'Samples that each GPU works on at once now', least: 0 },
  {
    kind: 'number',
    key: 'staticBytes',
    label: 'Static bytes',
    tooltip: 'What each GPU needs whatever the batch: weights, gradients, optimizer',
    least: 0,
  },
  {
    kind: 'choice',
    key: 'value',
    label: 'Rule reads',
    ofRule: true,
    choices: [choice('', 'Severity'), ...words('used', 'peak', 'headroom', 'hours_to_full')],
  },
];

const TOPOLOGY: InsightField[] = [
  {
    kind: 'list',
    key: 'parts',
    label: 'Parts',
    placeholder: 'All',
    choices: [
      choice('pcie', 'PCIe', 'Links of GPUs to their hosts'),
      choice('nvlink', 'NVLink', 'Links between GPUs, and switches'),
      choice('mig', 'MIG', 'Instances, and the room that is left'),
      choice('network', 'Network', 'What nodes are joined by; it is not measured'),
    ],
  },
  {
    kind: 'profile',
    key: 'profile',
    label: 'Room for',
    tooltip: 'A MIG profile, such as 3g.40gb: GPUs that surely have room for it are highlighted',
    placeholder: 'No profile',
  },
  {
    kind: 'choice',
    key: 'value',
    label: 'Rule reads',
    ofRule: true,
    choices: [
      choice('', 'Trouble', '0, 1 where a link is degraded, 2 where one is down'),
      choice('pcie', 'PCIe', 'Share of what the link can carry'),
      choice('nvlink', 'NVLink', 'Share of what the links can carry'),
      choice('fragmentation', 'Fragmentation', 'Share of free slices that one instance cannot have'),
      choice('room', 'Room', 'How many instances of the profile surely fit'),
    ],
  },
];

/** The options of each judgement that have fields. */
export const INSIGHT_FIELDS: Record<InsightQueryType, InsightField[]> = {
  bottleneck: BOTTLENECK,
  health: HEALTH,
  efficiency: EFFICIENCY,
  forecast: FORECAST,
  anomaly: ANOMALY,
  stragglers: STRAGGLERS,
  memory: MEMORY,
  topology: TOPOLOGY,
};
