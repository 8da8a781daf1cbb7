import { type Macro, macroOf } from './macros';

/** A string in any quotes, a comment, or a variable or macro. */
const TOKENS = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`[^`]*`?|#[^\n]*|\$\w+|\$\{[^}]*\}|\[\[\w+(?::\w+)?\]\]/g;

/**
 * The expression with each macro replaced by something of its kind and of its length, so that it can be parsed and places in
 * it are those of the text. Undefined when a dashboard's variable stands outside of strings: what it is cannot be known.
 */
export function withStandIns(expression: string): string | undefined {
  let known = true;
  const text = expression.replace(TOKENS, (token: string) => {
    if (!token.startsWith('$') && !token.startsWith('[[')) {
      return token;
    }
    const macro = macroOf(token);
    known = known && macro !== undefined;
    return macro ? standIn(macro, token.length) : token;
  });
  return known ? text : undefined;
}

function standIn({ standIn: kind }: Macro, length: number): string {
  switch (kind) {
    case 'duration':
      return `${'1'.repeat(length - 1)}s`;
    case 'number':
      return '1'.repeat(length);
    case 'matcher':
      return `a="${'b'.repeat(length - 4)}"`;
    case 'label':
      return 'a'.repeat(length);
  }
}
