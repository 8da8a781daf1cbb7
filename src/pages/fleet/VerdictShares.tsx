import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import React from 'react';

import { type Row, textOf } from '../shared/rows';

/** How many GPUs have each verdict now, the most frequent first. */
export function VerdictShares({ rows }: { rows: Row[] }) {
  const styles = useStyles2(getStyles);
  if (rows.length === 0) {
    return <p>No GPU was judged, so nothing is known of what holds them back.</p>;
  }
  const counts = countVerdicts(rows);
  return (
    <table className={styles.table}>
      <caption>GPUs by their verdict now</caption>
      <tbody>
        {counts.map(({ verdict, count }) => (
          <tr key={verdict}>
            <th scope="row">{verdict.replaceAll('-', ' ')}</th>
            <td className={styles.number}>{count}</td>
            <td className={styles.number}>{Math.round((100 * count) / rows.length)} %</td>
            <td className={styles.track} aria-hidden>
              <div className={styles.bar} style={{ width: `${(100 * count) / rows.length}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Verdicts with how many rows have each. */
export function countVerdicts(rows: Row[]): Array<{ verdict: string; count: number }> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const verdict = textOf(row, 'verdict') || 'unknown';
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }
  return [...counts].map(([verdict, count]) => ({ verdict, count })).sort((a, b) => b.count - a.count);
}

const getStyles = (theme: GrafanaTheme2) => ({
  table: css({
    width: '100%',
    maxWidth: theme.spacing(100),
    'th, td': { padding: theme.spacing(0.25, 2, 0.25, 0) },
    th: { width: theme.spacing(24), fontWeight: 'normal', textAlign: 'left' },
    caption: { position: 'absolute', width: 1, height: 1, overflow: 'hidden', clipPath: 'inset(50%)' },
  }),
  number: css({ width: theme.spacing(8), textAlign: 'right', fontVariantNumeric: 'tabular-nums' }),
  track: css({ minWidth: theme.spacing(16) }),
  bar: css({ height: theme.spacing(1.5), background: theme.colors.primary.main, printColorAdjust: 'exact' }),
});
