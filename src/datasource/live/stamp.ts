import { type DataFrame } from '@grafana/data';

/** How the backend begins the name of the last column of what it streams. */
const STAMP_PREFIX = 'told-';

/**
 * A packet without its stamp: a column without values, whose name is another one when the meta is. Grafana's buffer hands on
 * meta only where the columns changed.
 */
export function withoutStamp(frame: DataFrame): DataFrame {
  const fields = frame.fields.filter(({ name }) => !name.startsWith(STAMP_PREFIX));
  return { name: frame.name, refId: frame.refId, meta: frame.meta, length: frame.length, fields };
}
