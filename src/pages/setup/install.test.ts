import { readFileSync } from 'node:fs';
import path from 'node:path';

import { type CommandBlock } from './Commands';
import guide from './install.json';

const ROOT = path.join(__dirname, '..', '..', '..');

const BLOCKS: CommandBlock[] = [...guide.environments.flatMap(({ steps, scrape }) => [...steps, scrape]), guide.rules];

/** Whether a file has these lines one after the other, each behind the same mark of a comment, or none. */
function hasLines(text: string, lines: string[]): boolean {
  const all = text.split('\n');
  return all.some((line, at) => {
    if (!line.endsWith(lines[0])) {
      return false;
    }
    const mark = line.slice(0, line.length - lines[0].length);
    return /^#?\s*$/.test(mark) && lines.every((wanted, i) => all[at + i] === `${mark}${wanted}`);
  });
}

test.each(BLOCKS.map((block): [string, CommandBlock] => [`${block.from}: ${block.title}`, block]))(
  'what is copied is what the documentation says: %s',
  (_, { from, lines }) => {
    expect(hasLines(readFileSync(path.join(ROOT, from), 'utf8'), lines)).toBe(true);
  }
);

test('a line that the documentation has otherwise is noticed', () => {
  expect(hasLines('#   one\n#   two\n', ['one', 'two'])).toBe(true);
  expect(hasLines('one\nthree\n', ['one', 'two'])).toBe(false);
  expect(hasLines('more than one\n', ['one'])).toBe(false);
});

test('titles of blocks are unique within what is shown together', () => {
  for (const { steps, scrape } of guide.environments) {
    const titles = [...steps, scrape].map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  }
});
