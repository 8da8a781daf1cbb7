/** The text of whatever was thrown or answered in place of data. */
export function messageOf(error: unknown): string {
  if (typeof error === 'string' && error !== '') {
    return error;
  }
  if (typeof error === 'object' && error !== null) {
    const { message, data } = error as { message?: unknown; data?: { message?: unknown } };
    const text = data?.message || message;
    if (typeof text === 'string') {
      return text;
    }
  }
  return 'the reason is unknown';
}
