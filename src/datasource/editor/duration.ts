const DURATION = /^(\d+(y|w|d|h|ms|m|s))+$/;

/** What is wrong with a duration, if anything. Variables and macros are taken on trust, and empty means the default. */
export function durationProblem(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.includes('$') || DURATION.test(trimmed)) {
    return undefined;
  }
  return 'Write a number with its unit, such as 5s or 1m.';
}
