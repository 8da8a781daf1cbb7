import { PluginPage } from '@grafana/runtime';
import { Button, Combobox, Text } from '@grafana/ui';
import React, { useCallback } from 'react';

import { type AgentsPage, type Coverage } from '../../datasource/types';
import { ourDataSources } from '../../shared/dataSources';
import { type Answer, useAnswer } from '../../shared/useAnswer';
import { getResource } from '../shared/resource';
import { usePageState } from '../shared/usePageState';
import { useTick } from '../shared/useTick';
import { may } from './access';
import { AgentsStep } from './AgentsStep';
import { ConnectStep, connectState } from './ConnectStep';
import { agentsState } from './exporters';
import { dashboardsState, findDashboards, type Include } from './dashboards';
import { DashboardsStep } from './DashboardsStep';
import { type RecordedRules, rulesState } from './rules';
import { RulesStep } from './RulesStep';
import { checkSources } from './sources';
import { type StepState } from './Step';

/** The first-run guide: four steps, each with what is there already and what to do next. */
export function SetupPage({ includes }: { includes: Include[] }) {
  const state = usePageState();
  const [tick, lookAgain] = useTick('off');
  const { sources, coverage, agents, dashboards, rules } = useSetup(state.uid, includes, tick);
  const steps = [
    connectState(sources),
    state.uid ? agentsState(coverage, agents) : 'todo',
    dashboardsState(dashboards),
    state.uid ? rulesState(rules) : 'todo',
  ];
  return (
    <PluginPage
      subTitle="From nothing to a first picture: what is there, and what to do next"
      actions={
        <>
          <SourcePicker uid={state.uid} onChange={(ds) => state.set({ ds })} />
          <Button variant="secondary" icon="sync" onClick={lookAgain}>
            Look again
          </Button>
          <Button variant="secondary" onClick={() => window.print()}>
            Print
          </Button>
        </>
      }
    >
      <p>
        <Text weight="medium">{progress(steps)}</Text> <Text color="secondary">{rights()}</Text>
      </p>
      <ConnectStep answer={sources} onChange={lookAgain} />
      <AgentsStep state={state} coverage={coverage} agents={agents} />
      <DashboardsStep answer={dashboards} />
      <RulesStep state={state} answer={rules} />
    </PluginPage>
  );
}

interface Setup {
  sources: Answer<Awaited<ReturnType<typeof checkSources>>>;
  coverage: Answer<Coverage>;
  agents: Answer<AgentsPage>;
  dashboards: Answer<Awaited<ReturnType<typeof findDashboards>>>;
  rules: Answer<RecordedRules>;
}

function useSetup(uid: string | undefined, includes: Include[], tick: number): Setup {
  return {
    sources: useAnswer(
      useCallback(() => {
        void tick;
        return checkSources(ourDataSources().map(({ uid: one, name }) => ({ uid: one, name })));
      }, [tick])
    ),
    coverage: useResource<Coverage>(uid, 'coverage', tick),
    agents: useResource<AgentsPage>(uid, 'agents/page', tick),
    dashboards: useAnswer(
      useCallback(() => {
        void tick;
        return findDashboards(includes);
      }, [includes, tick])
    ),
    rules: useResource<RecordedRules>(uid, 'rules', tick),
  };
}

/** What a data source answers at a path; without a data source nothing is asked and nothing comes. */
function useResource<T>(uid: string | undefined, path: string, tick: number): Answer<T> {
  return useAnswer(
    useCallback(() => {
      void tick;
      return uid ? getResource<T>(uid, path) : new Promise<T>(() => undefined);
    }, [uid, path, tick])
  );
}

function SourcePicker({ uid, onChange }: { uid: string | undefined; onChange: (uid: string) => void }) {
  const sources = ourDataSources();
  if (sources.length < 2) {
    return null;
  }
  return (
    <Combobox
      aria-label="Data source"
      width={24}
      options={sources.map(({ uid: value, name }) => ({ value, label: name }))}
      value={uid ?? null}
      onChange={({ value }) => onChange(value)}
    />
  );
}

function progress(steps: StepState[]): string {
  const done = steps.filter((step) => step === 'done').length;
  return done === steps.length ? 'All four steps are done.' : `${done} of ${steps.length} steps are done.`;
}

function rights(): string {
  return may('datasources:create') && may('plugins:write')
    ? 'You may do all that is to be done in Grafana.'
    : 'You may look, copy and download. What needs an administrator of this organisation is marked.';
}
