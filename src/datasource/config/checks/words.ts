const MAX_ID = 64;
const MAX_CURRENCY = 8;
const MAX_DIALECTS = 256 * 1024;

/** Headers that the connection itself sets. */
const OWN_HEADERS = [
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** What is wrong with an id, if anything; others are the ids it must differ from. */
export function idProblem(text: string, others: string[] = []): string | undefined {
  if (text === '') {
    return 'Write a short id, such as north-a.';
  }
  if (text.length > MAX_ID || !/^[A-Za-z0-9_-]+$/.test(text)) {
    return `Use up to ${MAX_ID} letters, digits, - and _.`;
  }
  return others.includes(text) ? `“${text}” is taken: write another id.` : undefined;
}

/** What is wrong with the name of a label, if anything. */
export function labelProblem(text: string): string | undefined {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text.trim())
    ? undefined
    : `“${text}” is not the name of a label: use letters, digits and _, such as prometheus_replica.`;
}

/** What is wrong with the name of a header, if anything; others are those it is sent with. */
export function headerProblem(text: string, others: string[] = []): string | undefined {
  const name = text.trim();
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) {
    return 'Write the name of a header, such as X-Scope-OrgID.';
  }
  if (OWN_HEADERS.includes(name.toLowerCase())) {
    return `${name} belongs to the connection: remove it.`;
  }
  return others.some((other) => other.toLowerCase() === name.toLowerCase())
    ? `${name} is listed twice: keep one.`
    : undefined;
}

/** What is wrong with a currency, if anything. */
export function currencyProblem(text: string): string | undefined {
  return text.trim().length > MAX_CURRENCY ? 'Write the code of a currency, such as EUR.' : undefined;
}

/** What is wrong with a text that is exact, or a regular expression between slashes. */
export function patternProblem(text: string): string | undefined {
  const [, expression] = /^\/(.*)\/$/s.exec(text) ?? [];
  if (expression === undefined || expression.includes('(?')) {
    return undefined; // Go's groups and flags are not JavaScript's: the backend judges those
  }
  try {
    return new RegExp(expression) && undefined;
  } catch {
    return 'The regular expression between the slashes cannot be read: correct it.';
  }
}

/** What is wrong with exporters of one's own, if anything. */
export function dialectsProblem(text: string): string | undefined {
  if (text.trim() === '') {
    return undefined;
  }
  if (text.length > MAX_DIALECTS) {
    return `Keep to ${MAX_DIALECTS / 1024} KiB.`;
  }
  try {
    return Array.isArray(JSON.parse(text)) ? undefined : 'Write a list: [{"name": …, "labels": …, "series": …}].';
  } catch (error) {
    return `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}.`;
  }
}

const TIME = /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.,]\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** What is wrong with a moment, if anything. */
export function timeProblem(text: string): string | undefined {
  const trimmed = text.trim();
  return TIME.test(trimmed) && !Number.isNaN(Date.parse(trimmed)) ? undefined : 'Write it as 2026-01-05T08:00:00Z.';
}
