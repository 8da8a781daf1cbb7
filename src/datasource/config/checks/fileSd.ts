import { agentAddressProblem } from './network';

const EXAMPLE = '[{"targets": ["node-1:9847"], "labels": {"cluster": "north"}}]';
const MAX_BYTES = 2 * 1024 * 1024;

/** What a file for Prometheus's file_sd_configs says, as far as a browser can tell. */
export interface FileReading {
  /** What to correct; undefined when nothing is known to be wrong. */
  problem?: string;
  /** Agents it names; undefined where only the server can tell. */
  agents?: number;
}

/** Reads the text in JSON, or in the YAML that such files are written in. Other YAML is left to the server. */
export function readFileSd(text: string): FileReading {
  const trimmed = text.trim();
  if (trimmed === '') {
    return { problem: `Paste a file for file_sd_configs, such as ${EXAMPLE}.` };
  }
  if (trimmed.length > MAX_BYTES) {
    return { problem: 'Keep to 2 MiB, and spread agents over several files.' };
  }
  return /^[[{"]/.test(trimmed) ? readJson(trimmed) : readYaml(trimmed);
}

function readJson(text: string): FileReading {
  let groups: unknown;
  try {
    groups = JSON.parse(text);
  } catch (error) {
    return { problem: `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}.` };
  }
  if (!Array.isArray(groups) || groups.length === 0) {
    return { problem: `Write a list of entries, such as ${EXAMPLE}.` };
  }
  const problem = groups.map(groupProblem).find((found) => found !== undefined);
  return problem ? { problem } : { agents: groups.reduce((sum, { targets }) => sum + targets.length, 0) };
}

function groupProblem(group: unknown, index: number): string | undefined {
  const at = `Entry ${index + 1}`;
  if (typeof group !== 'object' || group === null || Array.isArray(group)) {
    return `${at}: write an object with targets and labels.`;
  }
  const { targets, labels = {}, ...others } = group as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    return `${at}: “${unknown}” is not known: an entry has targets and labels.`;
  }
  if (!isTexts(targets) || targets.length === 0) {
    return `${at}: list agents under targets as host:port.`;
  }
  const address = targets.map(agentAddressProblem).find((found) => found !== undefined);
  return address ? `${at}: ${address}` : labelsProblem(at, labels, targets.length);
}

function labelsProblem(at: string, labels: unknown, targets: number): string | undefined {
  if (typeof labels !== 'object' || labels === null || !isTexts(Object.values(labels))) {
    return `${at}: write labels as names with texts.`;
  }
  const { node, __scheme__: scheme = '' } = labels as Record<string, string>;
  if (!['', 'http', 'https'].includes(scheme.trim())) {
    return `${at}: __scheme__ is http or https.`;
  }
  return node && targets > 1
    ? `${at}: the label node names one node, so give each target an entry of its own.`
    : undefined;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

const LIST_OF_TARGETS = /^\s*(?:-\s+)?targets:\s*\[(.*)\]\s*$/;
const TARGETS = /^\s*(?:-\s+)?targets:\s*$/;
const ITEM = /^\s*-\s+([^\s:{[&*!|>][^\s{[]*)\s*$/;
const LABEL = /^\s*(?:-\s+)?(?!targets:)[\w"']+:(?:\s.*)?$/;

/** The block style that people write, line by line. */
function readYaml(text: string): FileReading {
  const lines = text.split('\n').filter((line) => !/^\s*(#.*|---.*)?$/.test(line));
  if (lines.length === 0 || !/^\s*-(\s|$)/.test(lines[0])) {
    return { problem: `Write a list of entries, such as ${EXAMPLE}.` };
  }
  const targets: string[] = [];
  let understood = true;
  for (const line of lines) {
    const inline = LIST_OF_TARGETS.exec(line)?.[1];
    const item = ITEM.exec(line)?.[1];
    if (inline !== undefined) {
      targets.push(...inline.split(',').map(unquoted).filter(Boolean));
    } else if (item !== undefined && !TARGETS.test(line)) {
      targets.push(unquoted(item));
    } else if (!TARGETS.test(line) && !LABEL.test(line)) {
      understood = false;
    }
  }
  if (!understood) {
    return {};
  }
  const problem = targets.length === 0 ? 'List agents under targets as host:port.' : firstProblem(targets);
  return problem ? { problem } : { agents: targets.length };
}

function firstProblem(targets: string[]): string | undefined {
  return targets.map(agentAddressProblem).find((found) => found !== undefined);
}

function unquoted(text: string): string {
  return text.trim().replace(/^(["'])(.*)\1$/, '$2');
}
