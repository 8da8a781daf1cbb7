import { css } from '@emotion/css';
import { type DataFrame, type GrafanaTheme2 } from '@grafana/data';
import { Stack, Text, TextLink, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type GpuQuery } from '../../datasource/types';
import { CsvButton, ExploreLink } from '../shared/Actions';
import { type PageView } from '../shared/Page';
import { runbookPath } from '../shared/paths';
import { numberOf, type Row, rowsOf, textOf } from '../shared/rows';
import { Section } from '../shared/Section';
import { SeverityBadge } from '../shared/severity';
import { agoText } from '../shared/times';
import { Where } from '../shared/Where';

interface Props extends Pick<PageView, 'uid' | 'state'> {
  queries: GpuQuery[];
  frame: DataFrame | undefined;
}

/** As many are shown at once; the rest is a click away. */
const SHOWN = 5;

/** Faults that belong together, under what is behind them. */
export function Incidents({ uid, state, queries, frame }: Props) {
  const styles = useStyles2(getStyles);
  const rows = rowsOf(frame);
  if (rows.length === 0) {
    return null;
  }
  const more = rows.slice(SHOWN);
  return (
    <Section
      title={`Incidents now: ${rows.length}`}
      actions={
        <Stack gap={1}>
          <CsvButton name="gpu-incidents" frame={frame} rows={rows} />
          <ExploreLink uid={uid} queries={queries} range={state.range} />
        </Stack>
      }
    >
      <ul className={styles.list}>
        {rows.slice(0, SHOWN).map((row) => (
          <Incident key={textOf(row, 'incident')} row={row} />
        ))}
      </ul>
      {more.length > 0 && (
        <details>
          <summary>{more.length} more</summary>
          <ul className={styles.list}>
            {more.map((row) => (
              <Incident key={textOf(row, 'incident')} row={row} />
            ))}
          </ul>
        </details>
      )}
    </Section>
  );
}

function Incident({ row }: { row: Row }) {
  const styles = useStyles2(getStyles);
  const runbook = textOf(row, 'runbook');
  const gpus = numberOf(row, 'gpus') ?? 0;
  return (
    <li className={styles.incident}>
      <SeverityBadge severity={textOf(row, 'severity')} />
      <div className={styles.body}>
        <div>
          <Text weight="medium">{textOf(row, 'reason')}</Text>
        </div>
        <div className={styles.detail}>
          <Where row={row} />
          {gpus > 0 && ` · ${gpus} ${gpus === 1 ? 'GPU' : 'GPUs'}: ${textOf(row, 'devices')}`}
          {textOf(row, 'explains') && ` · explains: ${textOf(row, 'explains')}`}
          {textOf(row, 'silenced') && ` · silenced: ${textOf(row, 'silenced')}`}
        </div>
        <div>{textOf(row, 'action')}</div>
      </div>
      <div className={styles.side}>
        {agoText(row)}
        {runbook && <TextLink href={runbookPath(runbook)}>Runbook</TextLink>}
      </div>
    </li>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  list: css({ listStyle: 'none', margin: 0 }),
  incident: css({
    display: 'flex',
    alignItems: 'flex-start',
    gap: theme.spacing(2),
    padding: theme.spacing(1),
    borderTop: `1px solid ${theme.colors.border.weak}`,
    breakInside: 'avoid',
  }),
  body: css({ flexGrow: 1, minWidth: 0 }),
  detail: css({ color: theme.colors.text.secondary }),
  side: css({
    display: 'flex',
    flexDirection: 'column',
    alignItems: 'flex-end',
    whiteSpace: 'nowrap',
    color: theme.colors.text.secondary,
  }),
});
