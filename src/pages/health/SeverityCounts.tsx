import { css, cx } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Icon, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type Row, textOf } from '../shared/rows';
import { SEVERITIES, severityInfo } from '../shared/severity';

interface Props {
  rows: Row[];
  /** The severity that the list is restricted to; '' for those that ask for somebody, `all` for all. */
  chosen: string;
  onChoose: (severity: string) => void;
}

/** How many GPUs, MIG instances and nodes there are of each severity; each is a filter of the list. What is silenced is counted apart. */
export function SeverityCounts({ rows, chosen, onChoose }: Props) {
  const styles = useStyles2(getStyles);
  const loud = rows.filter((row) => textOf(row, 'silenced') === '');
  const silenced = rows.length - loud.length;
  return (
    <div className={styles.counts} role="group" aria-label="Severities">
      {SEVERITIES.map((severity) => {
        const { label, icon, meaning } = severityInfo(severity);
        const count = loud.filter((row) => textOf(row, 'severity') === severity).length;
        return (
          <button
            key={severity}
            type="button"
            title={meaning}
            aria-pressed={chosen === severity}
            className={cx(styles.count, count > 0 && styles[severity])}
            onClick={() => onChoose(chosen === severity ? '' : severity)}
          >
            <span className={styles.number}>{count}</span>
            <span>
              <Icon name={icon} /> {label}
            </span>
          </button>
        );
      })}
      <button
        type="button"
        aria-pressed={chosen === 'all'}
        className={styles.count}
        onClick={() => onChoose(chosen === 'all' ? '' : 'all')}
      >
        <span className={styles.number}>{rows.length}</span>
        <span>All{silenced > 0 && `, ${silenced} silenced`}</span>
      </button>
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => {
  const edge = (color: string) => css({ borderLeftColor: color });
  return {
    counts: css({ display: 'flex', flexWrap: 'wrap', gap: theme.spacing(1), marginBottom: theme.spacing(3) }),
    count: css({
      display: 'flex',
      flexDirection: 'column',
      flex: `1 1 ${theme.spacing(14)}`,
      padding: theme.spacing(1, 2),
      textAlign: 'left',
      color: theme.colors.text.primary,
      background: theme.colors.background.secondary,
      border: `1px solid ${theme.colors.border.weak}`,
      borderLeft: `${theme.spacing(0.5)} solid ${theme.colors.border.weak}`,
      borderRadius: theme.shape.radius.default,
      '&:hover': { background: theme.colors.action.hover },
      '&[aria-pressed="true"]': {
        background: theme.colors.action.selected,
        outline: `2px solid ${theme.colors.primary.border}`,
      },
    }),
    number: css({ ...theme.typography.h2, fontVariantNumeric: 'tabular-nums' }),
    critical: edge(theme.visualization.getColorByName('red')),
    warning: edge(theme.visualization.getColorByName('orange')),
    unknown: edge(theme.visualization.getColorByName('purple')),
    info: edge(theme.visualization.getColorByName('blue')),
    ok: edge(theme.visualization.getColorByName('green')),
  };
};
