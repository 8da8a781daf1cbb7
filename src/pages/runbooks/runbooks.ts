import pages from './runbooks.json';

/** What to do about one thing that judgements and alert rules name. */
export interface Runbook {
  id: string;
  title: string;
  /** Alert rules that link to it. */
  alerts: string[];
  /** The codes that it is about, and what they mean. */
  xids: Array<{ code: number; text: string }>;
  meaning: string;
  /** What else it touches. */
  blast: string;
  /** The first ones, which only look. */
  commands: string[];
  /** What to make of what they print. */
  decision: string;
  action: string;
  escalation: string;
  /** How to see that it is over. */
  recovery: string;
  links: string[];
}

/** All runbooks. They come with the app: they are needed most while something does not answer. */
export const RUNBOOKS: Runbook[] = pages;

/** The runbook of an id, or of an XID written as `79` or `xid-79`, or of an alert rule. */
export function findRunbook(name: string): Runbook | undefined {
  const code = /^(?:xid-)?(\d+)$/i.exec(name)?.[1];
  return (
    RUNBOOKS.find(({ id }) => id === name) ??
    RUNBOOKS.find(({ alerts }) => alerts.includes(name)) ??
    RUNBOOKS.find(({ xids }) => xids.some((xid) => String(xid.code) === code))
  );
}

/** The runbooks that have every word of a text; those whose title has them come first. */
export function searchRunbooks(text: string): Runbook[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (where: string) => words.every((word) => where.includes(word));
  const found = RUNBOOKS.filter((book) => has(textOfBook(book)));
  const inTitle = (book: Runbook) => has(`${book.title} ${book.id}`.toLowerCase());
  return [...found.filter(inTitle), ...found.filter((book) => !inTitle(book))];
}

function textOfBook({ id, title, alerts, xids, meaning, blast, commands, decision, action }: Runbook): string {
  const codes = xids.map(({ text }) => text);
  return [id, title, ...alerts, ...codes, meaning, blast, ...commands, decision, action].join('\n').toLowerCase();
}
