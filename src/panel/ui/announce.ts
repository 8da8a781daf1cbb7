import { type Description } from '../describe';
import { ageText } from './ageText';

/** What a screen reader says of a cell. */
export function announcementOf({ name, value, metric, verdict, last, ageMs, reasons }: Description): string {
  const parts = [name];
  if (verdict) {
    parts.push(verdict);
  }
  if (metric) {
    parts.push(value ? `${metric} ${value}` : 'no value');
  }
  if (!value && last && ageMs !== undefined) {
    parts.push(`last measured ${ageText(ageMs)}`);
  }
  const reason = reasons.find(([label]) => label === 'Reason');
  if (reason) {
    parts.push(reason[1]);
  }
  return parts.join(', ');
}
