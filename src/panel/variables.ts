import { type Fleet } from './fleet/Fleet';
import { type FleetOptions } from './options';

/** More values than this make an address that servers refuse. */
const MOST = 100;

/** What a selection sets, as the part of an address. */
export interface Selection {
  /** By the address' names: `var-node`. */
  variables: Record<string, string[]>;
  /** What was done, for people. */
  text: string;
}

/** The variables for GPUs that were chosen: their nodes, and the GPUs unless these are all that the nodes have. */
export function selectionOf(
  fleet: Fleet,
  gpus: readonly number[],
  { nodeVariable, gpuVariable }: Pick<FleetOptions, 'nodeVariable' | 'gpuVariable'>,
  isVariable: (name: string) => boolean
): Selection {
  const nodes = Array.from(new Set(gpus.map((gpu) => fleet.texts.node[gpu]))).filter((node) => node !== '');
  const what = `${plural(gpus.length, 'GPU')} on ${plural(nodes.length, 'node')}`;
  const hasNodes = nodeVariable !== '' && isVariable(nodeVariable);
  const hasGpus = gpuVariable !== '' && isVariable(gpuVariable);
  if (!hasNodes && !hasGpus) {
    return { variables: {}, text: `${what}. This dashboard has no variable to set for them.` };
  }
  if (nodes.length > MOST) {
    return { variables: {}, text: `${what}. These are too many to select, at most ${MOST} nodes are.` };
  }
  const variables: Selection['variables'] = hasNodes ? { [`var-${nodeVariable}`]: nodes } : {};
  if (hasGpus) {
    const all = areWhole(fleet, gpus, nodes) || gpus.length > MOST;
    variables[`var-${gpuVariable}`] =
      all && hasNodes ? ['$__all'] : gpus.slice(0, MOST).map((gpu) => gpuName(fleet, gpu));
  }
  return { variables, text: `Selected ${what}.` };
}

function areWhole(fleet: Fleet, gpus: readonly number[], nodes: string[]): boolean {
  const wanted = new Set(nodes);
  let there = 0;
  fleet.parent.forEach((parent, cell) => {
    there += Number(parent < 0 && wanted.has(fleet.texts.node[cell]));
  });
  return there === gpus.length;
}

function gpuName(fleet: Fleet, gpu: number): string {
  return fleet.texts.gpu_uuid[gpu] || fleet.texts.gpu[gpu];
}

function plural(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
