import { type NavModelItem } from '@grafana/data';
import { PluginPage } from '@grafana/runtime';
import React, { type ReactNode } from 'react';

import { FirstRun } from '../home/FirstRun';
import { NothingMeasured } from '../home/NothingMeasured';
import { ScopeFilter } from './ScopeFilter';
import { Toolbar } from './Toolbar';
import { type PageState, type ScopeKey, usePageState } from './usePageState';
import { useTick } from './useTick';

/** What a page's content is made of: there is a data source. */
export interface PageView {
  uid: string;
  state: PageState;
  /** Grows when the page is to ask again. */
  tick: number;
}

interface Props {
  subTitle?: ReactNode;
  /** Of a page that the menu does not have. */
  nav?: NavModelItem;
  /** By what it can be restricted. */
  filters?: ScopeKey[];
  children: (view: PageView) => ReactNode;
}

/** The frame of a page that asks a data source: title, settings in the address, and what to do where there is no data source. */
export function Page({ subTitle, nav, filters = [], children }: Props) {
  const state = usePageState();
  const [tick, next] = useTick(state.refresh);
  const { uid } = state;
  if (!uid) {
    return (
      <PluginPage pageNav={nav} subTitle={subTitle}>
        <FirstRun />
      </PluginPage>
    );
  }
  return (
    <PluginPage pageNav={nav} subTitle={subTitle}>
      <Toolbar state={state} onRefresh={next}>
        {filters.map((level) => (
          <ScopeFilter key={level} state={state} level={level} />
        ))}
      </Toolbar>
      <NothingMeasured uid={uid} tick={tick} />
      {children({ uid, state, tick })}
    </PluginPage>
  );
}
