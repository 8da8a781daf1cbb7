import { type DataFrame, type Field, FieldType, toDataFrame } from '@grafana/data';

const text = (name: string, values: string[]): Partial<Field> & { name: string } => ({
  name,
  type: FieldType.string,
  values,
});

/** Two nodes of two GPUs; the first GPU has two MIG instances, and the last has no value. */
export function matrix(values: Array<number | null> = [0.5, 0.1, 0.9, 0.3, 0.7, null]): DataFrame {
  return toDataFrame({
    refId: 'A',
    fields: [
      text('cluster', Array<string>(6).fill('north')),
      text('node', ['n1', 'n1', 'n1', 'n1', 'n2', 'n2']),
      text('gpu', ['0', '0', '0', '1', '0', '1']),
      text('gpu_uuid', ['GPU-a', 'GPU-a', 'GPU-a', 'GPU-b', 'GPU-c', 'GPU-d']),
      text('mig_id', ['', '1', '2', '', '', '']),
      text('mig_profile', ['', '3g.40gb', '4g.40gb', '', '', '']),
      { name: 'gpu_sm_active_ratio', type: FieldType.number, config: { unit: 'percentunit' }, values },
    ],
  });
}
