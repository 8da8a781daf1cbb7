import defaults from './limits.json';

type Tree = Record<string, unknown>;

/** What a threshold holds for: everything, a class of work, or a model. */
export type Subject = 'all' | 'class' | 'model';

/** A limit that differs from its default. */
export interface Threshold {
  judgement: string;
  /** Where it stands in the judgement's limits. */
  steps: string[];
  value: number | string;
}

/** The limits of each judgement as the backend has them; its tests write the file. */
const DEFAULTS: Record<string, Tree> = defaults;

/** What the backend takes for a model's health. */
const MODEL_HEALTH = [
  'marginCelsius',
  'marginCriticalCelsius',
  'memoryWarnCelsius',
  'memoryCriticalCelsius',
  'nvlinks',
];

const PLACES = ['default', 'classes', 'models'];

export const JUDGEMENTS = Object.keys(DEFAULTS).sort();

/** What a judgement's limits can be set for. */
export function subjectsOf(judgement: string): Subject[] {
  if (judgement === 'bottleneck') {
    return ['all', 'class', 'model'];
  }
  return judgement === 'health' ? ['all', 'model'] : ['all'];
}

/** The names of the limits that can be set. */
export function namesOf(judgement: string, subject: Subject): string[] {
  if (judgement === 'health' && subject === 'model') {
    return MODEL_HEALTH;
  }
  return Object.keys(standardsOf(judgement)).filter((name) => !PLACES.includes(name));
}

/** The default of a limit; undefined where the table of models has it. */
export function standardOf(judgement: string, name: string): number | string | undefined {
  const value = standardsOf(judgement)[name];
  return isLeaf(value) ? value : undefined;
}

/** Where a limit stands. */
export function stepsOf(judgement: string, subject: Subject, of: string, name: string): string[] {
  if (subject === 'all') {
    return judgement === 'bottleneck' ? ['default', name] : [name];
  }
  return [subject === 'class' ? 'classes' : 'models', of, name];
}

/** The unit of a limit, which its name ends with. */
export function unitOf(name: string): string | undefined {
  const units: Array<[RegExp, string]> = [
    [/PerSecond$/, '/s'],
    [/PerHour$/, '/h'],
    [/PerWeek$/, '/week'],
    [/Seconds$/, 's'],
    [/minutes$/i, 'min'],
    [/Hours$/, 'h'],
    [/Days$/, 'd'],
    [/Celsius$/, '°C'],
    [/Bytes$/, 'B'],
  ];
  return units.find(([ending]) => ending.test(name))?.[1];
}

/** What is set, in the order in which it stands there. */
export function thresholdsOf(limits: Tree): Threshold[] {
  return Object.entries(limits).flatMap(([judgement, tree]) =>
    leavesOf(tree).map(([steps, value]) => ({ judgement, steps, value }))
  );
}

/** The limits with a threshold set, or taken away by undefined, with what it leaves empty. What nobody here knows stays. */
export function withThreshold(
  limits: Tree,
  judgement: string,
  steps: string[],
  value: number | string | undefined
): Tree {
  return withLeaf(limits, [judgement, ...steps], value);
}

/** The limits as an object; undefined where their text cannot be read. */
export function limitsOf(stored: unknown): Tree | undefined {
  if (typeof stored !== 'string') {
    return isTree(stored) ? stored : {};
  }
  if (stored.trim() === '') {
    return {};
  }
  try {
    const tree: unknown = JSON.parse(stored);
    return isTree(tree) ? tree : undefined;
  } catch {
    return undefined;
  }
}

function standardsOf(judgement: string): Tree {
  const tree = DEFAULTS[judgement] ?? {};
  return isTree(tree.default) ? tree.default : tree;
}

function leavesOf(tree: unknown): Array<[string[], number | string]> {
  if (!isTree(tree)) {
    return [];
  }
  return Object.entries(tree).flatMap(([step, node]): Array<[string[], number | string]> =>
    isLeaf(node) ? [[[step], node]] : leavesOf(node).map(([steps, value]) => [[step, ...steps], value])
  );
}

function withLeaf(tree: Tree, [step, ...rest]: string[], value: number | string | undefined): Tree {
  const old = tree[step];
  const next = rest.length === 0 ? value : withLeaf(isTree(old) ? old : {}, rest, value);
  const isEmpty = next === undefined || (isTree(next) && Object.keys(next).length === 0);
  if (!isEmpty) {
    return { ...tree, [step]: next };
  }
  const { [step]: _, ...others } = tree;
  return others;
}

function isTree(node: unknown): node is Tree {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

function isLeaf(node: unknown): node is number | string {
  return typeof node === 'number' || typeof node === 'string';
}
