import { type Notice } from '../../datasource/types';
import { type Answer } from '../../shared/useAnswer';
import { groupBy } from './groupBy';
import groups from './recorded.json';
import { type StepState } from './Step';

/** The answer of the resource `rules`: which recording rules each Prometheus has series of lately. */
export interface RecordedRules {
  servers: Array<{ server: string; cluster: string; recorded: string[] }>;
  notices: Notice[];
}

/** Rules that are loaded for one purpose. */
interface Purpose {
  title: string;
  /** How the names of their groups begin. */
  prefixes: string[];
  /** What it costs to be without them. */
  cost: string;
}

const PURPOSES: Purpose[] = [
  {
    title: 'Jobs and namespaces',
    prefixes: ['gpu_rollup_jobs', 'gpu_rollup_throttled'],
    cost: 'Lines of namespaces and jobs, and counts of throttled GPUs, are refused or stay empty.',
  },
  {
    title: 'Long ranges of nodes and clusters',
    prefixes: ['gpu_rollup_'],
    cost: 'Panels over more than 2 days read every GPU’s own series: slow, and heavy for Prometheus. p95 over GPUs is refused.',
  },
  {
    title: 'What alerts look at',
    prefixes: ['gpu_devices_', 'gpu_presence'],
    cost: 'The alert rules on health have nothing to look at and never fire.',
  },
  {
    title: 'Classes of workloads',
    prefixes: ['gpu_classes'],
    cost: 'The alert rules on efficiency know no thresholds and never fire.',
  },
];

/** How much of one purpose a cluster has. */
export interface RecordedPart {
  cluster: string;
  purpose: string;
  /** Groups of which at least one rule has a series, and of how many. */
  seen: number;
  groups: number;
  /** Names of groups without any series. */
  missing: string;
  cost: string;
}

/** For each cluster and purpose how much is recorded. What several servers of a cluster have counts together. */
export function recordedParts({ servers }: RecordedRules): RecordedPart[] {
  return [...groupBy(servers, ({ cluster }) => cluster)].flatMap(([cluster, own]) => {
    const names = new Set(own.flatMap(({ recorded }) => recorded));
    return PURPOSES.map((purpose): RecordedPart => {
      const all = groups.filter(({ name }) => purposeOf(name) === purpose);
      const missing = all.filter(({ records }) => !records.some((record) => names.has(record)));
      return {
        cluster,
        purpose: purpose.title,
        seen: all.length - missing.length,
        groups: all.length,
        missing: missing.map(({ name }) => name).join(', '),
        cost: missing.length === all.length ? purpose.cost : '',
      };
    });
  });
}

/** What a group of rules is for: the first purpose whose beginning it has. */
export function purposeOf(group: string): Purpose | undefined {
  return PURPOSES.find(({ prefixes }) => prefixes.some((prefix) => group.startsWith(prefix)));
}

/** A group in part is no gap: what an exporter does not measure, and what did not happen, is recorded nowhere. */
export function rulesState({ value, error }: Answer<RecordedRules>): StepState {
  if (error) {
    return 'unknown';
  }
  if (!value) {
    return 'asking';
  }
  const parts = recordedParts(value);
  if (parts.length === 0) {
    return 'unknown';
  }
  const there = parts.filter(({ seen }) => seen > 0).length;
  if (there === 0) {
    return 'todo';
  }
  return there === parts.length && value.notices.every(({ severity }) => severity === 'info') ? 'done' : 'partial';
}

export type RuleKind = 'recording' | 'alerts' | 'efficiency';
export type RuleFormat = 'prometheus' | 'PrometheusRule' | 'grafana';

/** The text of rules, which is loaded when somebody takes it; undefined where there is none of the kind in the format. */
export async function ruleText(kind: RuleKind, format: RuleFormat): Promise<string | undefined> {
  const { default: texts } = await import('./ruleTexts.json');
  return (texts[kind] as Partial<Record<RuleFormat, string>>)[format];
}

/** The name of the file that rules are kept in. */
export function ruleFile(kind: RuleKind, format: RuleFormat): string {
  const ends: Record<RuleFormat, string> = {
    prometheus: 'rules.yaml',
    PrometheusRule: 'prometheusrule.yaml',
    grafana: 'grafana.yaml',
  };
  return `warpwatch-${kind}.${ends[format]}`;
}
