import { type DataFrame } from '@grafana/data';

/** How the backend begins the name of the last column of what it streams. */
const STAMP_PREFIX = 'told-';

/**
 * A packet without its stamp: a last column without values, whose name is another one when the meta is. Grafana's buffer hands on
 * meta only where the columns changed. Other columns may be called like that by a legend.
 */
export function withoutStamp(frame: DataFrame): DataFrame {
  const stamped = frame.fields.at(-1)?.name.startsWith(STAMP_PREFIX);
  const fields = stamped ? frame.fields.slice(0, -1) : frame.fields;
  return { name: frame.name, refId: frame.refId, meta: frame.meta, length: frame.length, fields };
}
