import { type GpuVariableQuery } from '../types';
import { isParentKind, KINDS, PARENT_KEYS } from './kinds';

export const SHORTHAND_REF_ID = 'variable';

const CALL = /^\s*(\w+)\s*(?:\((.*)\))?\s*$/s;

/** A name, `=` or a matcher's `=~`, and a value: in double quotes, a variable in braces, or bare up to the next comma. */
const ARGUMENT = /^\s*(\w+)\s*=~?\s*(?:"((?:[^"\\]|\\.)*)"|(\$\{[^}]*\}|[^",\s]+))\s*(?:,|$)/s;

/**
 * Reads the text form of a variable's query, such as `nodes(cluster=$cluster)` or `gpus(node="a b", node=~$more)`. A
 * parent that is repeated holds for each of its values. Fails with what is wrong and what is accepted.
 */
export function parseShorthand(text: string): GpuVariableQuery {
  const call = CALL.exec(text);
  const info = call && KINDS.find(({ kind, plural }) => [kind, plural].includes(call[1].toLowerCase()));
  if (!call || !info) {
    throw new Error(
      `“${text}” lists nothing: write ${KINDS.map(({ plural }) => plural).join(', ')}, such as nodes(cluster=$cluster).`
    );
  }
  const query: GpuVariableQuery = { refId: SHORTHAND_REF_ID, kind: info.kind };
  let rest = call[2] ?? '';
  while (rest.trim() !== '') {
    const argument = ARGUMENT.exec(rest);
    if (!argument) {
      throw new Error(
        `“${rest.trim()}” in “${text}” is not name=value: write something like cluster=$cluster, values with spaces in double quotes.`
      );
    }
    addParent(query, argument[1].toLowerCase(), argument[3] ?? unquote(argument[2]));
    rest = rest.slice(argument[0].length);
  }
  return query;
}

function addParent(query: GpuVariableQuery, name: string, value: string): void {
  if (!isParentKind(name)) {
    const accepted = Object.keys(PARENT_KEYS).join(', ');
    throw new Error(`“${name}” narrows nothing: write one of ${accepted}.`);
  }
  const key = PARENT_KEYS[name];
  query[key] = [...(query[key] ?? []), value];
}

function unquote(text: string): string {
  return text.replace(/\\(.)/gs, '$1');
}
