import { Text, TextLink, useTheme2 } from '@grafana/ui';
import React, { useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';

import { type GpuQuery } from '../../datasource/types';
import { MOST_ROWS } from '../health/healthQuery';
import { ExploreLink } from '../shared/Actions';
import { type PageView } from '../shared/Page';
import { jobPath, keeping } from '../shared/paths';
import { Reasons } from '../shared/Reasons';
import { numberOf, type Row, textOf } from '../shared/rows';
import { SeverityBadge } from '../shared/severity';
import { type TableColumn, TableSection, textBy } from '../shared/TableSection';
import { useQueries } from '../shared/useQueries';
import { jobOfRow } from './jobKey';
import { JOBS_FRAME, jobsFrame } from './jobsOf';
import { MEASURES, progressQueries } from './progress';

/** Every job: how far it comes, who slows it down, and what its GPUs do meanwhile. */
export function JobList({ uid, state, tick }: PageView) {
  const queries: GpuQuery[] = [
    { refId: 'stragglers', queryType: 'stragglers', ...state.scope, options: { show: 'jobs' } },
    { refId: 'inventory', queryType: 'inventory', ...state.scope, maxRows: MOST_ROWS },
    ...progressQueries(state.scope),
  ];
  const answer = useQueries(uid, queries, state.range, tick);
  const { value, error } = answer;
  const made = useMemo(
    () => ({ error, value: value && { frames: [jobsFrame(value.frames)], notices: value.notices } }),
    [value, error]
  );
  const frame = made.value?.frames[0];
  const theme = useTheme2();
  const columns = useMemo<TableColumn[]>(() => {
    const told = MEASURES.map(({ metric, text }) => ({ text, read: textBy(frame, metric, theme) }));
    return [...FIRST, { ...PROGRESS, cell: (row) => <Told row={row} told={told} /> }, ...LAST];
  }, [frame, theme]);
  const why = (row: Row) => (
    <>
      <Reasons parts={[...WHY.map(([title, column]): Part => [title, textOf(row, column)]), waited(row)]} />
      <ExploreLink uid={uid} queries={[stragglersOf(row)]} range={state.range} />
    </>
  );
  return (
    <TableSection
      {...{ uid, state, queries, why, columns }}
      answer={{ ...answer, ...made }}
      title="Jobs"
      file="gpu-job-list"
      frame={JOBS_FRAME}
      empty="No job is known: no GPU has a pod or a Slurm job as its owner, and nothing reports train_… or serve_… metrics."
      loading="Looking for jobs…"
    />
  );
}

/** The judgement of the jobs of a row's cluster and namespace, to be looked at in Explore. */
function stragglersOf(row: Row): GpuQuery {
  const { cluster, namespace, job } = jobOfRow(row);
  return {
    refId: 'A',
    queryType: 'stragglers',
    ...(cluster !== '' && { clusters: [cluster] }),
    ...(namespace !== '' ? { namespaces: [namespace] } : { jobs: [job] }),
  };
}

const FIRST: TableColumn[] = [
  { header: 'Job', column: 'job', cell: (row) => <JobLink row={row} /> },
  { header: 'Stragglers', column: 'severity', cell: (row) => <Verdict row={row} />, wide: true },
];

const PROGRESS: TableColumn = { header: 'Progress', column: 'train_tokens_per_second', wide: true };

const LAST: TableColumn[] = [
  { header: 'Goodput', column: 'goodput' },
  { header: 'GPUs', column: 'devices' },
  { header: 'SM active', column: 'sm_active' },
  { header: 'Power', column: 'power' },
  { header: 'Memory used', column: 'memory_used' },
];

type Part = [title: string, text: string];

/** GPU-hours that the job's GPUs waited for slow ones; '' where that is not known. */
function waited(row: Row): Part {
  const hours = numberOf(row, 'lost_gpu_hours');
  return ['GPU-hours waited', hours === undefined ? '' : hours.toFixed(1)];
}

const WHY: Array<[title: string, column: string]> = [
  ['Evidence', 'evidence'],
  ['What to do', 'action'],
  ['Who acts', 'who_acts'],
  ['Compared by', 'compared_by'],
  ['Confidence', 'confidence'],
  ['Not measured here', 'missing'],
];

function JobLink({ row }: { row: Row }) {
  const [search] = useSearchParams();
  const place = [textOf(row, 'cluster'), textOf(row, 'namespace')].filter(Boolean).join(' · ');
  return (
    <>
      <TextLink href={keeping(jobPath(jobOfRow(row)), search)}>{textOf(row, 'job')}</TextLink>
      <div>
        <Text color="secondary" variant="bodySmall">
          {place}
        </Text>
      </div>
    </>
  );
}

/** What the backend says of a job that it compared; nothing of others. */
function Verdict({ row }: { row: Row }) {
  const severity = textOf(row, 'severity');
  return (
    severity && (
      <>
        <SeverityBadge severity={severity} />
        <div>{textOf(row, 'reason')}</div>
      </>
    )
  );
}

interface ToldProps {
  row: Row;
  told: Array<{ text: string; read: (row: Row) => string }>;
}

/** What a job or a server tells of itself, with units; nothing of what it does not tell. */
function Told({ row, told }: ToldProps) {
  const known = told.map(({ text, read }) => ({ text, value: read(row) })).filter(({ value }) => value !== '');
  return <>{known.map(({ text, value }) => text.replace('%', value)).join(' · ')}</>;
}
