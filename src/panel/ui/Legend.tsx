import { css, cx } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Button, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type LegendEntry } from '../colour/legend';
import { Swatch } from './Swatch';

const ROW_HEIGHT = 32;

/** A panel that is narrower has the legend in two rows, of counts alone. */
const NARROW = 480;

const isNarrow = (width: number) => width < NARROW;

export function legendHeightOf(width: number): number {
  return isNarrow(width) ? 2 * ROW_HEIGHT : ROW_HEIGHT;
}

interface Props {
  entries: LegendEntry[];
  /** What the colours are of. */
  title: string;
  /** How many cells there are, and whatever else is to be said of all of them. */
  summary: string;
  /** Of the panel, in pixels. */
  width: number;
  table: boolean;
  onTable: (table: boolean) => void;
}

/** What the colours mean, how many cells have each, and the way to the same as a table. */
export function Legend({ entries, title, summary, width, table, onTable }: Props) {
  const styles = useStyles2(getStyles);
  return (
    <div className={styles.row} style={{ height: legendHeightOf(width) }}>
      {/* Where it is wider than the panel, keys scroll it. */}
      <ul
        className={cx(styles.entries, isNarrow(width) && styles.wrapped)}
        tabIndex={0}
        aria-label={`Legend: ${title}`}
      >
        {!isNarrow(width) && (
          <li className={styles.title} title={title}>
            {title}
          </li>
        )}
        {entries.map(({ colour, text, count }) => (
          <li key={text} className={styles.entry}>
            <Swatch colour={colour} />
            <span>{text}</span>
            <span className={styles.count}>{count.toLocaleString('en')}</span>
          </li>
        ))}
        {!isNarrow(width) && (
          <li className={styles.title} title={summary}>
            {summary}
          </li>
        )}
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
  row: css({ display: 'flex', alignItems: 'center', gap: theme.spacing(1) }),
  entries: css({
    display: 'flex',
    flex: '1 1 0',
    minWidth: 0,
    gap: theme.spacing(0.5, 2),
    height: '100%',
    alignItems: 'center',
    overflow: 'auto hidden',
    whiteSpace: 'nowrap',
    listStyle: 'none',
    fontSize: theme.typography.bodySmall.fontSize,
  }),
  wrapped: css({ flexWrap: 'wrap', alignContent: 'center', overflow: 'hidden auto' }),
  entry: css({ display: 'inline-flex', flexShrink: 0, alignItems: 'center', gap: theme.spacing(0.75) }),
  // Gives way to the counts.
  title: css({ color: theme.colors.text.secondary, minWidth: 0, overflow: 'hidden', textOverflow: 'ellipsis' }),
  count: css({ color: theme.colors.text.secondary, fontVariantNumeric: 'tabular-nums' }),
});
