import { RadioButtonGroup } from '@grafana/ui';
import React from 'react';

import { type GpuQuery } from '../../datasource/types';
import { Incidents } from '../health/Incidents';
import { MOST_ROWS } from '../health/healthQuery';
import { AnswerView } from '../shared/AnswerView';
import { ExploreLink } from '../shared/Actions';
import { type PageView } from '../shared/Page';
import { hasPanel, Panels } from '../shared/Panels';
import { frameNamed, rowsOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { useQueries } from '../shared/useQueries';
import { Nodes } from './Nodes';
import { VerdictShares } from './VerdictShares';

const FLEET_PANEL = 'warpwatch-fleet-panel';
const MAP_HEIGHT = 480;

/** What the map is coloured by, with the query that tells it. */
const COLOURS: Array<{ value: string; label: string; query: GpuQuery }> = [
  { value: 'health', label: 'Health', query: { refId: 'A', queryType: 'health', options: { show: 'gpus' } } },
  {
    value: 'bottleneck',
    label: 'Bottleneck',
    query: { refId: 'A', queryType: 'bottleneck', options: { of: 'gpus', show: 'summary' } },
  },
  {
    value: 'activity',
    label: 'SM active',
    query: { refId: 'A', queryType: 'metric', metric: 'gpu_sm_active_ratio', format: 'matrix' },
  },
];

/** The map, what the GPUs do in all, incidents, and the nodes. */
export function FleetView(view: PageView) {
  return (
    <>
      <FleetMap {...view} />
      <Verdicts {...view} />
      <IncidentsNow {...view} />
      <Nodes {...view} />
    </>
  );
}

function FleetMap({ uid, state, tick }: PageView) {
  if (!hasPanel(FLEET_PANEL)) {
    return null;
  }
  const chosen = COLOURS.find(({ value }) => value === state.get('colour')) ?? COLOURS[0];
  const query: GpuQuery = { ...chosen.query, ...state.scope, maxRows: MOST_ROWS };
  return (
    <Section
      title="Map"
      actions={
        <RadioButtonGroup
          aria-label="Colour by"
          size="sm"
          options={COLOURS.map(({ value, label }) => ({ value, label }))}
          value={chosen.value}
          onChange={(colour) => state.set({ colour })}
        />
      }
    >
      <Panels
        uid={uid}
        range={state.range}
        tick={tick}
        panels={[{ title: `GPUs by ${chosen.label}`, plugin: FLEET_PANEL, query, wide: true, height: MAP_HEIGHT }]}
      />
    </Section>
  );
}

function Verdicts({ uid, state, tick }: PageView) {
  const queries: GpuQuery[] = [
    {
      refId: 'A',
      queryType: 'bottleneck',
      ...state.scope,
      maxRows: MOST_ROWS,
      options: { of: 'gpus', show: 'summary' },
    },
  ];
  const answer = useQueries(uid, queries, state.range, tick);
  return (
    <Section title="What holds GPUs back" actions={<ExploreLink uid={uid} queries={queries} range={state.range} />}>
      <AnswerView answer={answer} loading="Judging GPUs…">
        {({ frames }) => <VerdictShares rows={rowsOf(frameNamed(frames, 'bottleneck_summary'))} />}
      </AnswerView>
    </Section>
  );
}

function IncidentsNow({ uid, state, tick }: PageView) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'health', ...state.scope, options: { show: 'incidents' } }];
  const answer = useQueries(uid, queries, state.range, tick);
  return (
    <AnswerView answer={answer} loading="Looking for incidents…" notices={false}>
      {({ frames }) => (
        <Incidents uid={uid} state={state} queries={queries} frame={frameNamed(frames, 'health_incidents')} />
      )}
    </AnswerView>
  );
}
