import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Button, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type LegendEntry } from '../colour/legend';
import { Swatch } from './Swatch';

export const LEGEND_HEIGHT = 32;

interface Props {
  entries: LegendEntry[];
  /** What the colours are of. */
  title: string;
  /** How many cells there are, and whatever else is to be said of all of them. */
  summary: string;
  table: boolean;
  onTable: (table: boolean) => void;
}

/** What the colours mean, how many cells have each, and the way to the same as a table. */
export function Legend({ entries, title, summary, table, onTable }: Props) {
  const styles = useStyles2(getStyles);
  return (
    <div className={styles.row}>
      {/* Where it is wider than the panel, keys scroll it. */}
      <ul className={styles.entries} tabIndex={0} aria-label={`Legend: ${title}`}>
        <li className={styles.title} title={title}>
          {title}
        </li>
        {entries.map(({ colour, text, count }) => (
          <li key={text} className={styles.entry}>
            <Swatch colour={colour} />
            <span>{text}</span>
            <span className={styles.count}>{count.toLocaleString('en')}</span>
          </li>
        ))}
        <li className={styles.title} title={summary}>
          {summary}
        </li>
      </ul>
      <Button
        size="sm"
        variant="secondary"
        fill="text"
        icon={table ? 'gf-grid' : 'table'}
        onClick={() => onTable(!table)}
        aria-label={table ? 'Show as a map' : 'Show as a table'}
      >
        {table ? 'Map' : 'Table'}
      </Button>
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  row: css({ display: 'flex', alignItems: 'center', height: LEGEND_HEIGHT, gap: theme.spacing(1) }),
  entries: css({
    display: 'flex',
    flex: '1 1 0',
    minWidth: 0,
    gap: theme.spacing(0.5, 2),
    height: LEGEND_HEIGHT,
    alignItems: 'center',
    overflow: 'auto hidden',
    whiteSpace: 'nowrap',
    listStyle: 'none',
    fontSize: theme.typography.bodySmall.fontSize,
  }),
  entry: css({ display: 'inline-flex', flexShrink: 0, alignItems: 'center', gap: theme.spacing(0.75) }),
  // Gives way to the counts.
  title: css({ color: theme.colors.text.secondary, minWidth: 0, overflow: 'hidden', textOverflow: 'ellipsis' }),
  count: css({ color: theme.colors.text.secondary, fontVariantNumeric: 'tabular-nums' }),
});
