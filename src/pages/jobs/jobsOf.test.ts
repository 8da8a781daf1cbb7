import { rowsOf } from '../shared/rows';
import { rowFrame } from '../test/fakeSource';
import { jobsFrame } from './jobsOf';

const JUDGED = rowFrame('stragglers', [
  { cluster: 'north', namespace: 'ml', job: 'train', severity: 'warning', reason: 'Rank 3 is slow', goodput: 0.9 },
]);
const gpu = (pod: string, power: number | null, sm: number | null) => ({
  cluster: 'north',
  namespace: 'ml',
  pod,
  slurm_job: '',
  sm_active: sm,
  power,
  memory_used: 1e9,
});

test('what is said of one job is one row, and what nobody says is absent', () => {
  const rows = rowsOf(
    jobsFrame([
      JUDGED,
      rowFrame('inventory', [gpu('train-0', 300, 0.5), gpu('train-1', null, 0.7), gpu('other', 100, null)]),
      rowFrame('train_tokens_per_second', [
        { cluster: 'north', namespace: 'ml', pod: 'train-0', rank: '0', train_tokens_per_second: 1000 },
        { cluster: 'north', namespace: 'ml', pod: 'train-1', rank: '1', train_tokens_per_second: 500 },
      ]),
    ])
  );
  expect(rows.map(({ job }) => job)).toEqual(['train', 'other']);
  expect(rows[0]).toMatchObject({
    severity: 'warning',
    goodput: 0.9,
    devices: 2,
    power: 300,
    memory_used: 2e9,
    train_tokens_per_second: 1500,
    train_loss: null,
  });
  expect(rows[0].sm_active).toBeCloseTo(0.6);
  expect(rows[1]).toMatchObject({ severity: '', sm_active: null, goodput: null });
});

test('of several servers of a pod’s job the slowest and the fullest count, and waiting requests add up', () => {
  const server = (pod: string, column: string, value: number) => ({
    cluster: '',
    namespace: 's',
    pod,
    [column]: value,
  });
  const [row] = rowsOf(
    jobsFrame([
      rowFrame('serve_ttft_seconds', [
        server('chat-1', 'serve_ttft_seconds', 0.2),
        server('chat-2', 'serve_ttft_seconds', 0.9),
      ]),
      rowFrame('serve_requests_waiting', [
        server('chat-1', 'serve_requests_waiting', 3),
        server('chat-2', 'serve_requests_waiting', 4),
      ]),
    ])
  );
  expect(row).toMatchObject({ job: 'chat', serve_ttft_seconds: 0.9, serve_requests_waiting: 7 });
});

test('jobs of one name in two namespaces are two', () => {
  const other = { cluster: 'north', namespace: 'ops', job: 'train', severity: 'ok', reason: '', goodput: null };
  const both = rowFrame('stragglers', [{ ...other, namespace: 'ml' }, other]);
  expect(jobsFrame([both])).toHaveLength(2);
});
