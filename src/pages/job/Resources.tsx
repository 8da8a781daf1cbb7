import React from 'react';

import { type GpuQuery } from '../../datasource/types';
import { COST_COLUMNS } from '../jobs/costColumns';
import { type PageView } from '../shared/Page';
import { Reasons } from '../shared/Reasons';
import { type Row, textOf } from '../shared/rows';
import { SeverityBadge } from '../shared/severity';
import { type TableColumn, TableSection } from '../shared/TableSection';
import { useQueries } from '../shared/useQueries';
import { Where } from '../shared/Where';
import { type JobScope } from './jobScope';

interface Props extends PageView {
  scope: JobScope;
}

/** How much memory is left on each of a job's GPUs, and what a larger batch would need. */
export function MemoryOf({ uid, state, tick, scope }: Props) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'memory', ...scope, options: { show: 'gpus' } }];
  const answer = useQueries(uid, queries, state.range, tick);
  return (
    <TableSection
      {...{ uid, state, answer, queries }}
      title="Memory headroom"
      file="gpu-job-memory"
      frame="memory"
      columns={MEMORY_COLUMNS}
      why={whyOfMemory}
      empty="Nothing is known of the memory of its GPUs."
      loading="Looking at memory…"
    />
  );
}

function whyOfMemory(row: Row) {
  return <Reasons parts={MEMORY_WHY.map(([title, column]) => [title, textOf(row, column)])} />;
}

const MEMORY_COLUMNS: TableColumn[] = [
  { header: 'Where', column: 'node', cell: (row) => <Where row={row} />, wide: true },
  { header: 'Severity', column: 'severity', cell: (row) => <SeverityBadge severity={textOf(row, 'severity')} /> },
  { header: 'Why', column: 'reason', wide: true },
  { header: 'Used', column: 'used' },
  { header: 'Usable', column: 'usable' },
  { header: 'Peak', column: 'peak_ratio' },
  { header: 'Never used', column: 'headroom' },
  { header: 'Hours to full', column: 'hours_to_full' },
  { header: 'Fragmentation', column: 'fragmentation' },
  { header: 'KV cache', column: 'kv_cache' },
  { header: 'Times the batch', column: 'batch_factor' },
];

const MEMORY_WHY: Array<[title: string, column: string]> = [
  ['Evidence', 'evidence'],
  ['What to do', 'action'],
  ['Other reasons', 'more'],
  ['Confidence', 'confidence'],
  ['A larger batch rests on', 'batch_assumes'],
  ['Assumed', 'assumed'],
  ['Not measured here', 'missing'],
];

/** What a job's GPUs did and cost, and what that is by what it tells of itself. */
export function Cost({ uid, state, tick, scope }: Props) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'efficiency', ...scope }];
  const answer = useQueries(uid, queries, state.range, tick);
  const shared = { uid, state, answer, queries, loading: 'Adding up GPU time…' };
  return (
    <>
      <TableSection
        {...shared}
        title="GPU time and cost"
        file="gpu-job-cost"
        frame="efficiency"
        columns={COST_COLUMNS}
        empty="No GPU is known to have been its in this time range."
      />
      <TableSection
        {...shared}
        notices={false}
        title="Useful work"
        file="gpu-job-work"
        frame="efficiency_jobs"
        columns={WORK_COLUMNS}
        empty="MFU and tokens per joule are not known: export tokens (train_tokens_per_second, or a server’s counters), parameters and FLOPs."
      />
    </>
  );
}

const WORK_COLUMNS: TableColumn[] = [
  { header: 'Kind', column: 'class' },
  { header: 'MFU', column: 'mfu' },
  { header: 'MFU at most', column: 'tensor_pipe_ceiling' },
  { header: 'Tokens/s', column: 'tokens_per_second' },
  { header: 'Tokens/J', column: 'tokens_per_joule' },
  { header: 'Cost of a million tokens', column: 'cost_per_million_tokens' },
  { header: 'Currency', column: 'currency' },
  { header: 'Confidence', column: 'confidence' },
  { header: 'Notes', column: 'notes' },
];
