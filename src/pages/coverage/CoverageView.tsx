import { RadioButtonGroup, Text, TextLink } from '@grafana/ui';
import React from 'react';

import { type GpuQuery } from '../../datasource/types';
import { Enable } from '../metrics/MetricEntry';
import { AnswerView } from '../shared/AnswerView';
import { type PageView } from '../shared/Page';
import { metricPath } from '../shared/paths';
import { frameNamed, type Row, rowsOf, textOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { type TableColumn, TableSection } from '../shared/TableSection';
import { useQueries } from '../shared/useQueries';
import { Agents } from './Agents';
import { Dialects } from './Dialects';

/** Prometheus metric by metric, and the agents. */
export function CoverageView({ uid, state, tick }: PageView) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'coverage', clusters: state.scope.clusters }];
  const answer = useQueries(uid, queries, state.range, tick);
  return (
    <>
      <Section title="Exporters">
        <AnswerView answer={answer} loading="Looking at what is scraped…">
          {({ frames }) => <Dialects rows={rowsOf(frameNamed(frames, 'coverage'))} />}
        </AnswerView>
      </Section>
      <Agents uid={uid} state={state} tick={tick} />
      <TableSection
        {...{ uid, state, answer, queries }}
        filter={state.get('metrics') === 'all' ? undefined : isDark}
        actions={
          <RadioButtonGroup
            aria-label="Which metrics"
            size="sm"
            options={WHICH}
            value={state.get('metrics') || 'dark'}
            onChange={(metrics) => state.set({ metrics: metrics === 'dark' ? '' : metrics })}
          />
        }
        notices={false}
        title="Metrics"
        file="gpu-coverage"
        frame="coverage"
        columns={COLUMNS}
        empty={answer.value?.frames.some(({ length }) => length > 0) ? 'Every metric is there.' : 'Nothing is known of what Prometheus scrapes here.'}
        loading="Looking at what is scraped…"
      />
    </>
  );
}

const WHICH = [
  { value: 'dark', label: 'Incomplete' },
  { value: 'all', label: 'All' },
];

/** Whether something of a metric is missing: of some devices, of all, or for sure. */
function isDark(row: Row): boolean {
  return textOf(row, 'status') !== 'ok';
}

const COLUMNS: TableColumn[] = [
  { header: 'Cluster', column: 'cluster' },
  { header: 'Metric', column: 'metric', cell: (row) => <MetricFrom row={row} /> },
  { header: 'Status', column: 'status' },
  { header: 'Devices', column: 'covered', cell: (row) => `${textOf(row, 'covered')} of ${textOf(row, 'total')}` },
  { header: 'Why, and how to get it', column: 'why', cell: (row) => <Why row={row} /> },
];

function Why({ row }: { row: Row }) {
  const line = textOf(row, 'enable');
  return (
    <>
      {textOf(row, 'why')}
      {line && <Enable line={line} />}
    </>
  );
}

/** A metric, and the exporter's dialect and series that it is read from. */
function MetricFrom({ row }: { row: Row }) {
  const name = textOf(row, 'metric');
  const from = [textOf(row, 'dialect'), textOf(row, 'series')].filter(Boolean).join(': ');
  return (
    <>
      <TextLink href={metricPath(name)}>{name}</TextLink>
      <div>
        <Text color="secondary" variant="bodySmall">
          {from}
        </Text>
      </div>
    </>
  );
}
