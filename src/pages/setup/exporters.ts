import { type AgentState, type AgentsPage, type Coverage, type CoverageRow } from '../../datasource/types';
import { type Answer } from '../../shared/useAnswer';
import { groupBy } from './groupBy';
import { type StepState } from './Step';

/** One kind of exporter in one cluster. */
export interface Exporter {
  cluster: string;
  exporter: string;
  /** Scrape targets of it: one for each node, as exporters are usually run. */
  targets: number;
  /** GPUs and MIG instances that it tells of. */
  devices: number;
  metrics: number;
}

const NAMES: Record<string, string> = {
  warpwatch: 'Warpwatch agent',
  dcgm: 'dcgm-exporter',
  nvidia_smi: 'nvidia_gpu_exporter',
};

/**
 * Which exporters report. A metric may come in several series of one exporter, as in the middle of an upgrade, so targets and
 * devices are those of the metric that most of them have.
 */
export function exportersOf({ rows }: Coverage): Exporter[] {
  const groups = groupBy(rows.filter(isMeasured), ({ cluster, dialect }) => `${cluster}\n${dialect}`);
  const found = [...groups.values()].map((own): Exporter => {
    const metrics = [...groupBy(own, ({ metric }) => metric).values()];
    const most = (of: (row: CoverageRow) => number) =>
      Math.max(...metrics.map((list) => list.reduce((sum, row) => sum + of(row), 0)));
    const { cluster, dialect } = own[0];
    return {
      cluster,
      exporter: NAMES[dialect] ?? dialect,
      targets: most(({ exporters }) => exporters),
      devices: most(({ covered }) => covered),
      metrics: metrics.length,
    };
  });
  return found.sort((a, b) => a.cluster.localeCompare(b.cluster) || b.devices - a.devices);
}

function isMeasured({ status, subject, dialect }: CoverageRow): boolean {
  return status !== 'missing' && subject === 'device' && dialect !== '';
}

/** Agents whose samples come, or would as soon as somebody looks. */
const REACHED: AgentState[] = ['connected', 'idle', 'connecting', 'lagging'];

/** How many agents are known, and how many of them can be reached as far as is known. */
export function agentCounts({ states }: AgentsPage): { known: number; reached: number } {
  const sum = (counts: number[]) => counts.reduce((total, n) => total + n, 0);
  return { known: sum(Object.values(states)), reached: sum(REACHED.map((state) => states[state] ?? 0)) };
}

/** History and live samples are two things: only both are the whole. */
export function agentsState(coverage: Answer<Coverage>, agents: Answer<AgentsPage>): StepState {
  if (coverage.error && agents.error) {
    return 'unknown';
  }
  if (!settled(coverage) || !settled(agents)) {
    return 'asking';
  }
  const exporters = coverage.value ? exportersOf(coverage.value).length : 0;
  const { known, reached } = agents.value ? agentCounts(agents.value) : { known: 0, reached: 0 };
  if (exporters > 0 && known > 0 && reached === known) {
    return 'done';
  }
  if (exporters + known > 0) {
    return 'partial';
  }
  return coverage.error || agents.error ? 'unknown' : 'todo';
}

function settled({ value, error }: Answer<unknown>): boolean {
  return value !== undefined || error !== undefined;
}
