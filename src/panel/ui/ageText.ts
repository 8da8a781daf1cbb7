/** How old something is, as people say it. */
export function ageText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 2) {
    return 'now';
  }
  for (const [unit, name] of UNITS) {
    if (seconds >= 2 * unit) {
      return `${Math.floor(seconds / unit)} ${name} ago`;
    }
  }
  return `${seconds} s ago`;
}

const UNITS: Array<[number, string]> = [
  [86_400, 'days'],
  [3600, 'h'],
  [60, 'min'],
];
