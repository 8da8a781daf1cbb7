import { type DataFrame } from '@grafana/data';
import { Stack } from '@grafana/ui';
import React from 'react';

import { type GpuQuery } from '../../datasource/types';
import { CsvButton, ExploreLink } from '../shared/Actions';
import { AnswerView } from '../shared/AnswerView';
import { Notices } from '../shared/Notices';
import { type PageView } from '../shared/Page';
import { frameNamed, type Row, rowsOf, textOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { useQueries } from '../shared/useQueries';
import { HealthList } from './HealthList';
import { healthQuery } from './healthQuery';
import { Incidents } from './Incidents';
import { Nothing } from './Nothing';
import { SeverityCounts } from './SeverityCounts';

/** What is shown of severities when nobody chose: what asks for somebody. */
const NEEDS_SOMEBODY = ['critical', 'warning', 'unknown'];

/** Counts, incidents, and the list of GPUs with the worst first. */
export function HealthView({ uid, state, tick }: PageView) {
  const queries = [healthQuery(state.scope)];
  const answer = useQueries(uid, queries, state.range, tick);
  return (
    <AnswerView answer={answer} loading="Judging GPUs…" notices={false}>
      {({ frames, notices }) => {
        const gpus = frameNamed(frames, 'health');
        const rows = rowsOf(gpus);
        if (rows.length === 0) {
          return (
            <>
              <Notices notices={notices} />
              <Nothing scoped={Object.keys(state.scope).length > 0} />
            </>
          );
        }
        return (
          <>
            <SeverityCounts
              rows={rows}
              chosen={state.get('severity')}
              onChoose={(severity) => state.set({ severity })}
            />
            <Notices notices={notices} />
            <Incidents uid={uid} queries={queries} state={state} frame={frameNamed(frames, 'health_incidents')} />
            <Worst
              uid={uid}
              queries={queries}
              state={state}
              frame={gpus}
              rows={rows}
              partial={notices.some(({ severity }) => severity !== 'info')}
            />
          </>
        );
      }}
    </AnswerView>
  );
}

interface WorstProps extends Omit<PageView, 'tick'> {
  queries: GpuQuery[];
  frame: DataFrame | undefined;
  rows: Row[];
  partial: boolean;
}

function Worst({ uid, queries, state, frame, rows, partial }: WorstProps) {
  const severity = state.get('severity');
  const shown = rows.filter((row) => isShown(textOf(row, 'severity'), severity));
  return (
    <Section
      title="GPUs and nodes"
      actions={
        <Stack gap={1}>
          <CsvButton name="gpu-health" frame={frame} rows={shown} />
          <ExploreLink uid={uid} queries={queries} range={state.range} />
        </Stack>
      }
    >
      <HealthList uid={uid} rows={shown} total={rows.length} range={state.range} chosen={severity} partial={partial} />
    </Section>
  );
}

/** Whether a row is in the list: those of the chosen severity, of all, or by default those that ask for somebody. */
export function isShown(severity: string, chosen: string): boolean {
  if (chosen === '') {
    return NEEDS_SOMEBODY.includes(severity);
  }
  return chosen === 'all' || chosen === severity;
}
