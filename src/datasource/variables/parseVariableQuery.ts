import { type GpuVariableQuery } from '../types';
import { KINDS } from './kinds';
import { parseShorthand, SHORTHAND_REF_ID } from './parseShorthand';

/** What a new variable lists. */
export const DEFAULT_VARIABLE_QUERY: GpuVariableQuery = { refId: SHORTHAND_REF_ID, kind: 'node' };

/** A stored variable's query in whichever form: an object of the editor, the shorthand, or nothing yet. */
export function parseVariableQuery(stored: unknown): GpuVariableQuery {
  if (typeof stored === 'string') {
    return stored.trim() === '' ? DEFAULT_VARIABLE_QUERY : parseShorthand(stored);
  }
  if (typeof stored !== 'object' || stored === null) {
    return DEFAULT_VARIABLE_QUERY;
  }
  if ('query' in stored && typeof stored.query === 'string' && !('kind' in stored)) {
    return parseVariableQuery(stored.query);
  }
  const query = stored as Partial<GpuVariableQuery>;
  if (!KINDS.some(({ kind }) => kind === query.kind)) {
    return DEFAULT_VARIABLE_QUERY;
  }
  return { ...DEFAULT_VARIABLE_QUERY, ...query };
}
