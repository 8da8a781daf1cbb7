import { css } from '@emotion/css';
import { type DataFrame, formattedValueToString, getValueFormat, type GrafanaTheme2 } from '@grafana/data';
import { useStyles2, useTheme2 } from '@grafana/ui';
import React from 'react';

import { frameNamed } from '../shared/rows';
import { heatOf, median, nameOf, type Rank, RANK_METRICS } from './ranks';

interface Props {
  ranks: Rank[];
  frames: DataFrame[];
}

/** Each rank beside the others: the further a value is from the median, the deeper its colour. The mark says in which direction. */
export function RankTable({ ranks, frames }: Props) {
  const styles = useStyles2(getStyles);
  const shown = RANK_METRICS.filter(({ metric }) => ranks.some(({ values }) => values[metric] !== undefined)).map(
    (one) => ({
      ...one,
      format: getValueFormat(
        frameNamed(frames, one.metric)?.fields.find(({ name }) => name === one.metric)?.config.unit
      ),
      all: ranks.map(({ values }) => values[one.metric]).filter((value) => value !== undefined),
    })
  );
  const places = PLACES.filter(({ key }) => ranks.some((rank) => rank[key] !== ''));
  return (
    // A wide table is scrolled, also by keyboard.
    <div className={styles.scroll} role="group" aria-label="Ranks beside each other" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Rank</th>
            {places.map(({ key, header }) => (
              <th scope="col" key={key}>
                {header}
              </th>
            ))}
            {shown.map(({ metric, header }) => (
              <th scope="col" key={metric} className={styles.number}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ranks.map((rank) => (
            <tr key={JSON.stringify([rank.rank, rank.pod, rank.node])}>
              <th scope="row">{nameOf(rank)}</th>
              {places.map(({ key }) => (
                <td key={key}>{rank[key]}</td>
              ))}
              {shown.map(({ metric, format, all }) => (
                <Cell key={metric} value={rank.values[metric]} all={all} format={format} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Where ranks are, as far as they say so. */
const PLACES = [
  { key: 'node', header: 'Node' },
  { key: 'pod', header: 'Pod' },
] as const;

interface CellProps {
  value: number | undefined;
  all: number[];
  format: ReturnType<typeof getValueFormat>;
}

/** Less than this of the way to the deepest colour is noise. */
const NOISE = 0.1;

/** How much of a colour is the deepest; texts stay readable on it. */
const DEEPEST = 35;

function Cell({ value, all, format }: CellProps) {
  const styles = useStyles2(getStyles);
  const theme = useTheme2();
  const heat = heatOf(value, all) ?? 0;
  const colour = theme.visualization.getColorByName('orange');
  const background =
    heat < NOISE ? undefined : `color-mix(in srgb, ${colour} ${Math.round(heat * DEEPEST)}%, transparent)`;
  return (
    <td className={styles.number} style={{ background }}>
      {value === undefined ? '' : formattedValueToString(format(value))}
      {value !== undefined && heat >= NOISE && (value > (median(all) ?? value) ? ' ▲' : ' ▼')}
    </td>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  scroll: css({ overflow: 'auto', maxHeight: theme.spacing(64), '@media print': { maxHeight: 'none' } }),
  table: css({
    'th, td': { padding: theme.spacing(0.5, 1.5), textAlign: 'left', whiteSpace: 'nowrap', printColorAdjust: 'exact' },
    'thead th': { position: 'sticky', top: 0, background: theme.colors.background.primary },
    'tbody th': { fontWeight: 'normal' },
    'tbody tr': { borderTop: `1px solid ${theme.colors.border.weak}`, breakInside: 'avoid' },
  }),
  // Over the alignment of all cells.
  number: css({ '&&': { textAlign: 'right' }, fontVariantNumeric: 'tabular-nums' }),
});
