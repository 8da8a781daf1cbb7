import { createDataFrame, FieldType, StreamingDataFrame } from '@grafana/data';

import { AppendedTable, MAX_BUFFER_ROWS } from './AppendedTable';

test('a storm of events fills the table with the newest, each once and in order', () => {
  const seed = createDataFrame({
    fields: [
      { name: 'time', type: FieldType.time, values: [0] },
      { name: 'text', type: FieldType.string, values: ['0'] },
    ],
  });
  const table = new AppendedTable(seed, 86_400_000);
  const buffer = StreamingDataFrame.fromDataFrameJSON(
    { schema: { fields: seed.fields.map(({ name, type }) => ({ name, type })) } },
    { maxLength: MAX_BUFFER_ROWS }
  );
  const perPacket = 1000;
  for (let packet = 0; packet < 45; packet++) {
    const times = Array.from({ length: perPacket }, (_, i) => packet * perPacket + i);
    buffer.push({ data: { values: [times, times.map(String)] } });
    table.overlay(buffer);
    const shown = Array.from<number>(table.toFrame().fields[0].values);
    const newest = (packet + 1) * perPacket - 1;
    const kept = Math.min(newest + 1, 5000);
    expect(shown).toEqual(Array.from({ length: kept }, (_, i) => newest + 1 - kept + i));
  }
});
