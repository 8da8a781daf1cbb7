import { escapeRegex } from './regex';

/** What Grafana passes to a format function about the variable. */
interface VariableInfo {
  multi?: boolean;
  includeAll?: boolean;
}

/** A value inside a PromQL string in double quotes. */
function quoted(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"');
}

/**
 * A literal inside a regular expression inside a PromQL string: escaped once for the expression, again for the string.
 * RE2 needs no escape for a slash or a hyphen and refuses the former.
 */
function literal(value: string): string {
  return quoted(escapeRegex(value));
}

/**
 * How a variable is written into an expression. A variable that can hold several values is meant for `=~` and becomes
 * a regular expression of literals; any other is meant for `=` and only escaped for its quotes.
 */
export function promqlValue(value: unknown, variable: VariableInfo = {}): string {
  if (Array.isArray(value)) {
    const literals = value.map((each) => literal(String(each)));
    return literals.length === 1 ? literals[0] : `(${literals.join('|')})`;
  }
  const text = String(value);
  return variable.multi || variable.includeAll ? literal(text) : quoted(text);
}
