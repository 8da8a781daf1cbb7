import React, { useEffect } from 'react';

import { type GpuQuery } from '../../datasource/types';
import { ExploreLink } from '../shared/Actions';
import { AnswerView } from '../shared/AnswerView';
import { type PageView } from '../shared/Page';
import { Panels } from '../shared/Panels';
import { frameNamed, rowsOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { TableSection } from '../shared/TableSection';
import { useQueries } from '../shared/useQueries';
import { HealthList } from '../health/HealthList';
import { healthQuery } from '../health/healthQuery';
import { EVENT_COLUMNS, INVENTORY_COLUMNS, PROCESS_COLUMNS } from './columns';
import { panelsOf } from './panels';
import { type Called, calledIn, type Place, type PlaceScope } from './place';
import { Topology } from './Topology';

interface Props extends PageView {
  place: Place;
  scope: PlaceScope;
  /** Told once the inventory says what the place's GPU is called. */
  onCalled: (called: Called) => void;
}

/** All that is known of a place: health, what it is and whose, how it runs, what holds it back, links, processes and events. */
export function DeviceView(props: Props) {
  const { uid, state, tick, scope } = props;
  return (
    <>
      <HealthOf {...props} />
      <Inventory {...props} />
      <Section title="Now and before">
        <Panels uid={uid} range={state.range} tick={tick} panels={panelsOf(scope)} />
      </Section>
      <Topology uid={uid} state={state} tick={tick} place={props.place} />
      <Processes {...props} />
      <Events {...props} />
    </>
  );
}

function HealthOf({ uid, state, tick, scope, place }: Props) {
  const queries: GpuQuery[] = [healthQuery(scope)];
  const answer = useQueries(uid, queries, state.range, tick);
  return (
    <Section title="Health" actions={<ExploreLink uid={uid} queries={queries} range={state.range} />}>
      <AnswerView answer={answer} loading="Judging…">
        {({ frames }) => {
          const all = rowsOf(frameNamed(frames, 'health'));
          const rows = place.gpu === '' ? all : all.filter(({ of }) => of !== 'node');
          return rows.length === 0 ? (
            <p>Nothing is known of it in this time range, which does not mean that it is well.</p>
          ) : (
            <HealthList uid={uid} rows={rows} total={rows.length} range={state.range} chosen="all" />
          );
        }}
      </AnswerView>
    </Section>
  );
}

function Inventory({ uid, state, tick, scope, place, onCalled }: Props) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'inventory', ...scope }];
  const answer = useQueries(uid, queries, state.range, tick);
  const frames = answer.value?.frames;
  useEffect(() => {
    const called = calledIn(rowsOf(frameNamed(frames, 'inventory')), place.gpu);
    if (called) {
      onCalled(called);
    }
  }, [frames, place.gpu, onCalled]);
  return (
    <TableSection
      title="GPUs and MIG instances"
      file="gpu-inventory"
      {...{ uid, state, answer, queries }}
      frame="inventory"
      columns={INVENTORY_COLUMNS}
      empty="No GPU is known here in this time range."
      loading="Looking for GPUs…"
    />
  );
}

function Processes({ uid, state, tick, scope }: Props) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'processes', ...scope }];
  const answer = useQueries(uid, queries, state.range, tick);
  return (
    <TableSection
      title="Processes now"
      file="gpu-processes"
      {...{ uid, state, answer, queries }}
      frame="processes"
      columns={PROCESS_COLUMNS}
      empty="No process is known. Processes are told by the Warpwatch agent alone."
      loading="Asking agents…"
    />
  );
}

function Events({ uid, state, tick, scope }: Props) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'events', ...scope }];
  const answer = useQueries(uid, queries, state.range, tick);
  return (
    <TableSection
      title="Events"
      file="gpu-events"
      {...{ uid, state, answer, queries }}
      frame="events"
      columns={EVENT_COLUMNS}
      empty="No event is known in this time range."
      loading="Looking for events…"
    />
  );
}
