import { createDataFrame, FieldType } from '@grafana/data';

import { withoutStamp } from './stamp';

const column = (name: string) => ({ name, type: FieldType.number, values: [1] });

test.each([
  [
    ['time', 'GPU 0', 'told-0123abcd'],
    ['time', 'GPU 0'],
  ],
  [
    ['time', 'GPU 0'],
    ['time', 'GPU 0'],
  ],
  [
    ['time', 'told-by legend', 'told-0123abcd'],
    ['time', 'told-by legend'],
  ],
  [[], []],
])('of the columns %j a panel sees %j', (sent, seen) => {
  const frame = createDataFrame({ fields: sent.map(column), meta: { notices: [{ severity: 'info', text: 'x' }] } });
  const shown = withoutStamp(frame);
  expect(shown.fields.map(({ name }) => name)).toEqual(seen);
  expect(shown).toMatchObject({ length: frame.length, meta: frame.meta });
});
