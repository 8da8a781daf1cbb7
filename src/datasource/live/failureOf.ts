import { messageOf } from '../../shared/messageOf';

/** Where answers say what went wrong: answers of a query in `errors`, those of a stream in `error` alone. */
interface MayFail {
  error?: unknown;
  errors?: unknown[];
}

/** The text of an answer's first error; undefined when it has none. */
export function failureOf({ error, errors }: MayFail): string | undefined {
  const first = error ?? errors?.[0];
  return first === undefined ? undefined : messageOf(first);
}
