/** The members in which Grafana and the data source's backend put the text of an error. */
interface Told {
  message?: unknown;
  error?: unknown;
  statusText?: unknown;
  data?: { message?: unknown; error?: unknown };
}

/** The text of whatever was thrown or answered in place of data. What the backend says comes first. */
export function messageOf(error: unknown): string {
  if (typeof error === 'object' && error !== null) {
    const { message, error: inner, statusText, data }: Told = error;
    const texts = [data?.error, data?.message, message, inner, statusText];
    return texts.find(isText) ?? UNKNOWN;
  }
  return isText(error) ? error : UNKNOWN;
}

const UNKNOWN = 'the reason is unknown';

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
