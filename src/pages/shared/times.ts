import { dateTimeFormat, dateTimeFormatTimeAgo } from '@grafana/data';

import { numberOf, type Row } from './rows';

/** When something was: how long ago, and the moment. */
export function sinceText(row: Row, column = 'since'): string {
  const at = numberOf(row, column);
  return at === undefined ? '' : `${dateTimeFormatTimeAgo(at)} (${dateTimeFormat(at)})`;
}

/** How long ago; '' where that is not known. */
export function agoText(row: Row, column = 'since'): string {
  const at = numberOf(row, column);
  return at === undefined ? '' : dateTimeFormatTimeAgo(at);
}
