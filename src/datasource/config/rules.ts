import rules from './rules.json';

/** What may be written at a key of the settings. The backend's tests write the file, so that both sides have the same rules. */
export interface Rule {
  kind: 'text' | 'number' | 'flag' | 'list' | 'json' | 'duration' | 'bytes';
  /** What holds when nothing is written. */
  default?: string | number | string[];
  least?: string | number;
  most?: string | number;
  choices?: string[];
}

const RULES = rules as Record<string, Rule>;

/** The paths of all keys that the backend reads; `[]` stands for any entry of a list. */
export const KEYS = Object.keys(RULES);

/** The key of a place: `clusters[].name` of `clusters.0.name`. */
export function keyOf(path: string): string {
  return path.replace(/\.\d+(?=\.|$)/g, '[]');
}

/** The rule of a place, such as `clusters.0.name`. */
export function ruleOf(path: string): Rule {
  const rule = RULES[keyOf(path)];
  if (!rule) {
    throw new Error(`The backend reads no setting ${keyOf(path)}.`);
  }
  return rule;
}

/** What is shown in an empty field: the default. */
export function placeholderOf({ default: standard }: Rule): string | undefined {
  return Array.isArray(standard) ? standard.join('\n') : standard?.toString();
}
