import { toCsv } from './csv';

test('names come first; texts are quoted where they must be, and times are ISO 8601', () => {
  const rows = [
    { node: 'a,b', reason: 'says "no"\nand goes', since: 0, risk: 0.5 },
    { node: 'c', reason: null, since: null, risk: undefined },
  ];
  expect(toCsv(['node', 'reason', 'since', 'risk'], rows, ['since'])).toBe(
    'node,reason,since,risk\r\n"a,b","says ""no""\nand goes",1970-01-01T00:00:00.000Z,0.5\r\nc,,,\r\n'
  );
});

test.each(['=1+1', '+1', '-cmd', '@sum', '\t=1'])('%j is no formula of a spreadsheet', (text) => {
  expect(toCsv(['name'], [{ name: text }])).toContain(`'${text}`);
});

test('a negative number stays a number', () => {
  expect(toCsv(['offset'], [{ offset: -1 }])).toBe('offset\r\n-1\r\n');
});
