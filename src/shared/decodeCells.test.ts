import { decodeCells } from './decodeCells';
import vectors from './testdata/cells.json';

// The vectors are written by the backend's test.
test.each(vectors.map((vector) => [vector.Name, vector] as const))('%s', (_, { Packet, Values }) => {
  const [, , [min], [max], [cells], [absent]] = Packet.data.values as [
    number[],
    string[],
    number[],
    number[],
    string[],
    number[],
  ];
  const values = decodeCells({ cells, min, max });
  expect(values).toHaveLength(Values.length);
  Values.forEach((want, i) => {
    if (want === null) {
      expect(values[i]).toBeNull();
    } else {
      expect(values[i]).toBeCloseTo(want, 9);
    }
  });
  expect(values.filter((value) => value === null)).toHaveLength(absent);
});
