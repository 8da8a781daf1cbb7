import { css } from '@emotion/css';
import { dateTime, type GrafanaTheme2, type TimeRange } from '@grafana/data';
import { Button, Combobox, RefreshPicker, TimeRangePicker, useStyles2 } from '@grafana/ui';
import React, { type ReactNode } from 'react';

import { ourDataSources } from '../../shared/dataSources';
import { rangeOf } from './ask';
import { type PageState } from './usePageState';

interface Props {
  state: PageState;
  /** Asks again now. */
  onRefresh: () => void;
  /** What restricts the page. */
  children?: ReactNode;
}

const INTERVALS = ['15s', '1m', '5m', '15m'];

/** What every page can be set to: data source, scope and time. All of it is in the address. */
export function Toolbar({ state, onRefresh, children }: Props) {
  const styles = useStyles2(getStyles);
  const sources = ourDataSources();
  return (
    <div className={styles.bar} role="toolbar" aria-label="What is shown">
      {sources.length > 1 && (
        <Combobox
          aria-label="Data source"
          width={24}
          options={sources.map(({ uid, name }) => ({ value: uid, label: name }))}
          value={state.uid ?? null}
          onChange={({ value }) => state.set({ ds: value })}
        />
      )}
      {children}
      <div className={styles.end}>
        <TimeControls state={state} />
        <RefreshPicker
          intervals={INTERVALS}
          tooltip="Refresh"
          value={state.refresh === 'off' ? '' : state.refresh}
          onIntervalChanged={(interval) => state.set({ refresh: interval || 'off' })}
          onRefresh={onRefresh}
        />
        <Button variant="secondary" onClick={() => window.print()}>
          Print
        </Button>
      </div>
    </div>
  );
}

function TimeControls({ state }: { state: PageState }) {
  const range = rangeOf(state.range);
  const length = range.to.valueOf() - range.from.valueOf();
  const shift = (by: number) => {
    const moved = (at: number) => String(Math.round(at + by * length));
    state.set({ from: moved(range.from.valueOf()), to: moved(range.to.valueOf()) });
  };
  const zoomOut = () =>
    state.set({
      from: String(Math.round(range.from.valueOf() - length / 2)),
      to: String(Math.round(range.to.valueOf() + length / 2)),
    });
  return (
    <TimeRangePicker
      value={range}
      onChange={({ raw }: TimeRange) => state.set({ from: parameter(raw.from), to: parameter(raw.to) })}
      onChangeTimeZone={() => undefined}
      onMoveBackward={() => shift(-0.5)}
      onMoveForward={() => shift(0.5)}
      onZoom={zoomOut}
    />
  );
}

/** A moment as the address writes it. */
function parameter(moment: TimeRange['raw']['from']): string {
  return typeof moment === 'string' ? moment : String(dateTime(moment).valueOf());
}

const getStyles = (theme: GrafanaTheme2) => ({
  bar: css({
    display: 'flex',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: theme.spacing(1),
    marginBottom: theme.spacing(2),
    '@media print': { display: 'none' },
  }),
  end: css({ display: 'flex', flexWrap: 'wrap', gap: theme.spacing(1), marginLeft: 'auto' }),
});
