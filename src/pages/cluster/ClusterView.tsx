import React from 'react';

import { type GpuQuery } from '../../datasource/types';
import { VerdictShares } from '../fleet/VerdictShares';
import { healthQuery, MOST_ROWS } from '../health/healthQuery';
import { Incidents } from '../health/Incidents';
import { Nothing } from '../health/Nothing';
import { ExploreLink } from '../shared/Actions';
import { AnswerView } from '../shared/AnswerView';
import { type PageView } from '../shared/Page';
import { frameNamed, rowsOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { useQueries } from '../shared/useQueries';
import { Groups } from './Groups';
import { WorstNodes } from './WorstNodes';

interface Props extends PageView {
  cluster: string;
}

/** What is wrong in a cluster, where, and what holds its GPUs back. */
export function ClusterView({ uid, state, tick, cluster }: Props) {
  const scope = {
    ...(state.scope.models && { models: state.scope.models }),
    ...(cluster !== '' && { clusters: [cluster] }),
  };
  const health: GpuQuery[] = [healthQuery(scope)];
  const inventory: GpuQuery[] = [{ refId: 'A', queryType: 'inventory', ...scope, maxRows: MOST_ROWS }];
  const verdicts: GpuQuery[] = [
    { refId: 'A', queryType: 'bottleneck', ...scope, maxRows: MOST_ROWS, options: { of: 'gpus', show: 'summary' } },
  ];
  const judged = useQueries(uid, health, state.range, tick);
  const listed = useQueries(uid, inventory, state.range, tick);
  const held = useQueries(uid, verdicts, state.range, tick);
  return (
    <>
      <AnswerView answer={judged} loading="Judging GPUs…">
        {({ frames }) => {
          const frame = frameNamed(frames, 'health');
          const rows = rowsOf(frame);
          if (rows.length === 0) {
            return <Nothing scoped />;
          }
          return (
            <>
              <Incidents uid={uid} state={state} queries={health} frame={frameNamed(frames, 'health_incidents')} />
              <WorstNodes
                {...{ uid, state, queries: health }}
                frame={frame}
                health={rows}
                inventory={rowsOf(frameNamed(listed.value?.frames, 'inventory'))}
                problem={listed.error}
              />
              <Groups {...{ uid, state, queries: health }} frame={frame} health={rows} />
            </>
          );
        }}
      </AnswerView>
      <Section title="What holds GPUs back" actions={<ExploreLink uid={uid} queries={verdicts} range={state.range} />}>
        <AnswerView answer={held} loading="Judging GPUs…">
          {({ frames }) => <VerdictShares rows={rowsOf(frameNamed(frames, 'bottleneck_summary'))} />}
        </AnswerView>
      </Section>
    </>
  );
}
