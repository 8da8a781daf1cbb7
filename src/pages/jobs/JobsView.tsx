import { RadioButtonGroup, TextLink } from '@grafana/ui';
import React from 'react';
import { useSearchParams } from 'react-router-dom';

import { type GpuQuery } from '../../datasource/types';
import { type PageView } from '../shared/Page';
import { keeping, PATHS } from '../shared/paths';
import { type Row, textOf } from '../shared/rows';
import { type TableColumn, TableSection } from '../shared/TableSection';
import { useQueries } from '../shared/useQueries';
import { Where } from '../shared/Where';
import { COST_COLUMNS } from './costColumns';
import { JobList } from './JobList';

/** What time is split by. */
const BY = [
  { value: 'namespace', label: 'Namespace', dimensions: ['namespace'] },
  { value: 'job', label: 'Job', dimensions: ['namespace', 'job'] },
  { value: 'user', label: 'User', dimensions: ['user'] },
  { value: 'model', label: 'Model', dimensions: ['model'] },
  { value: 'cluster', label: 'Cluster', dimensions: ['cluster'] },
];

/** The jobs, what became of GPU time by owner, GPUs that somebody has and does not use, and what jobs tell of themselves. */
export function JobsView({ uid, state, tick }: PageView) {
  const by = BY.find(({ value }) => value === state.get('by')) ?? BY[0];
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'efficiency', ...state.scope, options: { by: by.dimensions } }];
  const answer = useQueries(uid, queries, state.range, tick);
  const shared = { uid, state, answer, queries, loading: 'Adding up GPU time…' };
  return (
    <>
      <JobList uid={uid} state={state} tick={tick} />
      <TableSection
        {...shared}
        actions={
          <RadioButtonGroup
            aria-label="Split by"
            size="sm"
            options={BY.map(({ value, label }) => ({ value, label }))}
            value={by.value}
            onChange={(value) => state.set({ by: value })}
          />
        }
        title={`GPU time by ${by.label.toLowerCase()}`}
        file="gpu-efficiency"
        frame="efficiency"
        columns={[...by.dimensions.map(dimensionColumn), ...COST_COLUMNS]}
        empty="Nobody is known to have had a GPU in this time range."
      />
      <TableSection
        {...shared}
        notices={false}
        title="Had and idle now"
        file="gpu-idle"
        frame="efficiency_idle"
        columns={IDLE_COLUMNS}
        empty="No GPU that somebody has is known to be idle."
      />
      <TableSection
        {...shared}
        notices={false}
        title="Training jobs and servers"
        file="gpu-jobs"
        frame="efficiency_jobs"
        columns={JOB_COLUMNS}
        empty="No job tells of itself. Its framework’s metrics have to be scraped for that."
      />
      <TableSection
        {...shared}
        notices={false}
        title="Budgets"
        file="gpu-budgets"
        frame="efficiency_budgets"
        columns={BUDGET_COLUMNS}
        empty="There is no budget in the data source’s settings."
      />
    </>
  );
}

function dimensionColumn(dimension: string): TableColumn {
  return {
    header: `${dimension.charAt(0).toUpperCase()}${dimension.slice(1)}`,
    column: dimension,
    cell: (row) => <Owner row={row} dimension={dimension} />,
  };
}

/** Leads to the GPUs of a namespace; what has no owner is said to have none. */
function Owner({ row, dimension }: { row: Row; dimension: string }) {
  const [search] = useSearchParams();
  const name = textOf(row, dimension);
  if (name === '') {
    return <em>nobody</em>;
  }
  if (dimension !== 'namespace' && dimension !== 'model' && dimension !== 'cluster') {
    return <>{name}</>;
  }
  const path = keeping(PATHS.health, search);
  const parameters = new URLSearchParams({ [dimension]: name, severity: 'all' });
  return <TextLink href={`${path}${path.includes('?') ? '&' : '?'}${parameters}`}>{name}</TextLink>;
}

const IDLE_COLUMNS: TableColumn[] = [
  { header: 'Where', column: 'node', cell: (row) => <Where row={row} /> },
  { header: 'Model', column: 'model' },
  { header: 'Had by', column: 'owner' },
  { header: 'Idle since', column: 'since' },
  { header: 'Part of a GPU', column: 'weight' },
  { header: 'An hour costs', column: 'per_hour' },
  { header: 'Currency', column: 'currency' },
];

const JOB_COLUMNS: TableColumn[] = [
  { header: 'Cluster', column: 'cluster' },
  { header: 'Namespace', column: 'namespace' },
  { header: 'Job', column: 'job' },
  { header: 'Kind', column: 'class' },
  { header: 'GPUs', column: 'gpus' },
  { header: 'MFU', column: 'mfu' },
  { header: 'Tokens/s', column: 'tokens_per_second' },
  { header: 'Tokens/J', column: 'tokens_per_joule' },
  { header: 'Cost of a million tokens', column: 'cost_per_million_tokens' },
  { header: 'Currency', column: 'currency' },
  { header: 'Confidence', column: 'confidence' },
  { header: 'Notes', column: 'notes' },
];

const BUDGET_COLUMNS: TableColumn[] = [
  { header: 'Budget', column: 'budget' },
  { header: 'A month', column: 'month' },
  { header: 'Spent', column: 'month_to_date' },
  { header: 'Expected', column: 'forecast' },
  { header: 'Used up', column: 'used_up' },
  { header: 'Currency', column: 'currency' },
];
