import { Text } from '@grafana/ui';
import React, { useMemo } from 'react';

import { type GpuQuery } from '../../datasource/types';
import { type JobKey } from '../jobs/jobKey';
import { MEASURES, progressQueries } from '../jobs/progress';
import { INVENTORY_COLUMNS } from '../node/columns';
import { CsvButton, ExploreLink } from '../shared/Actions';
import { AnswerView } from '../shared/AnswerView';
import { type PageView } from '../shared/Page';
import { type PanelSpec, Panels } from '../shared/Panels';
import { frameNamed, rowsOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { TableSection } from '../shared/TableSection';
import { useQueries } from '../shared/useQueries';
import { type JobScope, scopeOfJob, searchedScope } from './jobScope';
import { Cost, MemoryOf } from './Resources';
import { hardwarePanels, servingPanels, scopeOfDevices, skewPanel, trainingPanels } from './panels';
import { podsOf, RANK_METRICS, rankQueries, ranksOf } from './ranks';
import { RankTable } from './RankTable';
import { Stragglers } from './Stragglers';

interface Props extends PageView {
  job: JobKey;
}

/** All that is known of a job. Who its ranks are is asked first: they say in which pods it runs. */
export function JobView({ job, ...view }: Props) {
  const { uid, state, tick } = view;
  const queries = rankQueries(searchedScope(job));
  const answer = useQueries(uid, queries, state.range, tick);
  const frames = answer.value?.frames;
  const ranks = useMemo(() => ranksOf(frames ?? [], job), [frames, job]);
  const scope = scopeOfJob(job, podsOf(ranks));
  const shown = RANK_METRICS.map(({ metric }) => frameNamed(frames, metric)).find((frame) => frame && frame.length > 0);
  return (
    <>
      <Stragglers {...view} job={job} />
      <AnswerView answer={answer} loading="Looking for ranks…">
        {(asked) => (
          <>
            <Progress {...view} scope={scope} />
            <Section
              title={ranks.length > 0 ? `Ranks: ${ranks.length}` : 'Ranks'}
              actions={
                <>
                  <CsvButton name="gpu-job-ranks" frame={shown} rows={rowsOf(shown)} />
                  <ExploreLink uid={uid} queries={queries} range={state.range} />
                </>
              }
            >
              {ranks.length > 0 ? (
                <RankTable ranks={ranks} frames={asked.frames} />
              ) : (
                <Text color="secondary">
                  No rank reports of itself. Let each process report train_step_seconds with the Python module that
                  comes with the agent, or by pushing OTLP to it: the notices have the series that are looked for.
                </Text>
              )}
            </Section>
            <Hardware {...view} scope={scope} />
            <MemoryOf {...view} scope={scope} />
            <Cost {...view} scope={scope} />
          </>
        )}
      </AnswerView>
    </>
  );
}

interface ScopedProps extends PageView {
  scope: JobScope;
}

/** What training or serving tells of itself, as far as it does. */
function Progress({ uid, state, tick, scope }: ScopedProps) {
  const queries: GpuQuery[] = progressQueries(scope);
  const answer = useQueries(uid, queries, state.range, tick);
  return (
    <Section title="Progress" actions={<ExploreLink uid={uid} queries={queries} range={state.range} />}>
      <AnswerView answer={answer} loading="Looking for what it tells of itself…">
        {({ frames }) => {
          const measured = new Set(
            MEASURES.map(({ metric }) => metric).filter((metric) => (frameNamed(frames, metric)?.length ?? 0) > 0)
          );
          const panels: PanelSpec[] = [...trainingPanels(scope, measured), ...servingPanels(scope, measured)];
          return panels.length > 0 ? (
            <Panels uid={uid} range={state.range} tick={tick} panels={panels} />
          ) : (
            <Text color="secondary">
              It tells nothing of itself. Have its framework’s metrics scraped: steps, tokens and loss of training
              (train_…), latency, tokens and cache of a server (serve_…). The notices have the series of each.
            </Text>
          );
        }}
      </AnswerView>
    </Section>
  );
}

function Hardware({ uid, state, tick, scope }: ScopedProps) {
  const queries: GpuQuery[] = [{ refId: 'A', queryType: 'inventory', ...scope }];
  const answer = useQueries(uid, queries, state.range, tick);
  const devices = rowsOf(frameNamed(answer.value?.frames, 'inventory'));
  return (
    <>
      {devices.length > 0 && (
        <Section title="Its GPUs now and before">
          <Panels
            uid={uid}
            range={state.range}
            tick={tick}
            panels={[...hardwarePanels(scope, scopeOfDevices(devices)), skewPanel(scope)]}
          />
        </Section>
      )}
      <TableSection
        title="Its GPUs and MIG instances"
        file="gpu-job-inventory"
        {...{ uid, state, answer, queries }}
        frame="inventory"
        columns={INVENTORY_COLUMNS}
        empty="No GPU is known to be its. Owners are told by the Warpwatch agent, or by the pod labels of dcgm-exporter (DCGM_EXPORTER_KUBERNETES=true)."
        loading="Looking for GPUs…"
      />
    </>
  );
}
