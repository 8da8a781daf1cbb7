/** The text as a regular expression that matches it alone, in RE2 and in JavaScript. */
export function escapeRegex(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
