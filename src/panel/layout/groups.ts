import { type Dimension, type Fleet } from '../fleet/Fleet';

export type Grouping = 'auto' | 'none' | 'cluster' | 'rack' | 'node' | 'model' | 'job';

/** GPUs that are shown together, in the order in which the frames name them. */
export interface Group {
  name: string;
  gpus: number[];
}

/** How many nodes a fleet may have to be grouped by node unless asked otherwise. */
const FEW_NODES = 64;

const NAMELESS: Record<Exclude<Grouping, 'auto' | 'none'>, string> = {
  cluster: 'no cluster',
  rack: 'no rack',
  node: 'no node',
  model: 'unknown model',
  job: 'no job',
};

/** Puts GPUs into groups, sorted by name as people count; GPUs without the name come last. */
export function groupFleet(fleet: Fleet, wanted: Grouping): Group[] {
  const by = wanted === 'auto' ? autoGrouping(fleet) : wanted;
  if (by === 'none') {
    return [{ name: '', gpus: gpusOf(fleet) }];
  }
  const groups = new Map<string, Group>();
  for (const gpu of gpusOf(fleet)) {
    const { key, name } = groupOf(fleet, gpu, by);
    const group = groups.get(key);
    if (group) {
      group.gpus.push(gpu);
    } else {
      groups.set(key, { name, gpus: [gpu] });
    }
  }
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return Array.from(groups)
    .sort(([a], [b]) => Number(a === '') - Number(b === '') || compare(a, b))
    .map(([, group]) => group);
}

/** A node is known within its cluster only; a MIG instance's job is its GPU's when all of them have the same. */
function groupOf(fleet: Fleet, gpu: number, by: Dimension & keyof typeof NAMELESS): { key: string; name: string } {
  const text = fleet.texts[by][gpu] || (by === 'job' ? jobOfSlices(fleet, gpu) : '');
  const key = text !== '' && by === 'node' ? `${fleet.texts.cluster[gpu]}\n${text}` : text;
  return { key, name: text || NAMELESS[by] };
}

function jobOfSlices(fleet: Fleet, gpu: number): string {
  const jobs = new Set<string>();
  for (let i = fleet.sliceStart[gpu]; i < fleet.sliceStart[gpu + 1]; i++) {
    jobs.add(fleet.texts.job[fleet.slices[i]]);
  }
  const [job = ''] = jobs;
  return jobs.size > 1 ? 'several jobs' : job;
}

function gpusOf(fleet: Fleet): number[] {
  const gpus: number[] = [];
  fleet.parent.forEach((parent, cell) => parent < 0 && gpus.push(cell));
  return gpus;
}

function autoGrouping(fleet: Fleet): Exclude<Grouping, 'auto'> {
  const nodes = new Set(fleet.texts.node.map((node, cell) => `${fleet.texts.cluster[cell]}\n${node}`)).size;
  if (nodes <= 1) {
    return 'none';
  }
  if (nodes <= FEW_NODES) {
    return 'node';
  }
  return new Set(fleet.texts.cluster).size > 1 ? 'cluster' : 'none';
}
