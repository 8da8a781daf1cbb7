import { formattedValueToString, getValueFormat } from '@grafana/data';
import { Stack, Text, TextLink } from '@grafana/ui';
import React from 'react';

import { type GpuQuery } from '../../datasource/types';
import { jobOfRow, type JobKey, sameJob } from '../jobs/jobKey';
import { CsvButton, ExploreLink } from '../shared/Actions';
import { AnswerView } from '../shared/AnswerView';
import { type PageView } from '../shared/Page';
import { runbookPath } from '../shared/paths';
import { Reasons } from '../shared/Reasons';
import { frameNamed, numberOf, type Row, rowsOf, textOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { SeverityBadge } from '../shared/severity';
import { type TableColumn, TableSection } from '../shared/TableSection';
import { useQueries } from '../shared/useQueries';
import { Where } from '../shared/Where';
import { searchedScope } from './jobScope';

interface Props extends PageView {
  job: JobKey;
}

/** Whether somebody slows the job down, who, on what evidence, and where else its time goes. */
export function Stragglers({ uid, state, tick, job }: Props) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'stragglers', ...searchedScope(job) }];
  const answer = useQueries(uid, queries, state.range, tick);
  const frame = frameNamed(answer.value?.frames, 'stragglers');
  const own = rowsOf(frame).filter((row) => sameJob(jobOfRow(row), job));
  return (
    <>
      <Section
        title="Who slows it down"
        actions={
          <Stack gap={1}>
            <CsvButton name="gpu-job-verdict" frame={frame} rows={own} />
            <ExploreLink uid={uid} queries={queries} range={state.range} />
          </Stack>
        }
      >
        <AnswerView answer={answer} loading="Comparing ranks…">
          {() =>
            own.length > 0 ? (
              <Verdict row={own[0]} />
            ) : (
              <Text color="secondary">
                It was not compared: no rank reports of itself, and fewer than two GPUs are known to be its.
              </Text>
            )
          }
        </AnswerView>
      </Section>
      <TableSection
        {...{ uid, state, answer, queries }}
        notices={false}
        title="Suspects"
        file="gpu-job-suspects"
        frame="stragglers_suspects"
        filter={(row) => sameJob(jobOfRow(row), job)}
        columns={SUSPECT_COLUMNS}
        empty="Nobody is suspected."
        loading="Comparing ranks…"
      />
    </>
  );
}

/** Numbers of the judgement in the order of their weight, with their units. */
const NUMBERS: Array<[title: string, column: string, unit: string]> = [
  ['Goodput', 'goodput', 'percentunit'],
  ['Skew', 'skew', 'short'],
  ['GPU-hours waited', 'lost_gpu_hours', 'short'],
  ['Collectives, of a step', 'exchange', 'percentunit'],
  ['Waiting for data, of a step', 'data', 'percentunit'],
  ['Checkpoints, of time', 'checkpoint', 'percentunit'],
  ['Pipeline bubble, planned', 'bubble_planned', 'percentunit'],
  ['Outside of forward and backward', 'bubble_measured', 'percentunit'],
  ['Restarts', 'restarts', 'none'],
  ['Ranks that report', 'ranks', 'none'],
  ['GPUs', 'gpus', 'short'],
  ['Nodes', 'nodes', 'none'],
];

const TEXTS: Array<[title: string, column: string]> = [
  ['Evidence', 'evidence'],
  ['What to do', 'action'],
  ['Who acts', 'who_acts'],
  ['Down', 'down'],
  ['Compared by', 'compared_by'],
  ['Other reasons', 'more'],
  ['Confidence', 'confidence'],
  ['Notes', 'notes'],
  ['Not measured here', 'missing'],
];

function Verdict({ row }: { row: Row }) {
  const runbook = textOf(row, 'runbook');
  return (
    <>
      <Stack gap={1} alignItems="center">
        <SeverityBadge severity={textOf(row, 'severity')} />
        <Text weight="medium">{textOf(row, 'reason')}</Text>
        {runbook && <TextLink href={runbookPath(runbook)}>Runbook</TextLink>}
      </Stack>
      <Reasons
        parts={[
          ...TEXTS.slice(0, 4).map(([title, column]): [string, string] => [title, textOf(row, column)]),
          ...NUMBERS.map(([title, column, unit]): [string, string] => [title, numberText(row, column, unit)]),
          ...TEXTS.slice(4).map(([title, column]): [string, string] => [title, textOf(row, column)]),
        ]}
      />
    </>
  );
}

/** A number with its unit; '' where nothing was measured. */
function numberText(row: Row, column: string, unit: string): string {
  const value = numberOf(row, column);
  return value === undefined ? '' : formattedValueToString(getValueFormat(unit)(value));
}

const SUSPECT_COLUMNS: TableColumn[] = [
  { header: 'Kind', column: 'kind' },
  { header: 'Rank', column: 'rank' },
  { header: 'Where', column: 'node', cell: (row) => <Where row={row} />, wide: true },
  { header: 'Times the median', column: 'ratio' },
  { header: 'Standard deviations', column: 'z' },
  { header: 'Since', column: 'since' },
  { header: 'Until', column: 'until' },
  { header: 'Evidence', column: 'evidence', wide: true },
];
