import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Badge, type BadgeColor, ClipboardButton, Text, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type CoverageRow, type CoverageStatus, type GpuQuery, type Metric } from '../../datasource/types';
import { ExploreLink } from '../shared/Actions';
import { type RawRange } from '../shared/ask';
import { type PageScope } from '../shared/usePageState';

interface Props {
  uid: string;
  metric: Metric;
  /** Where it comes from here; undefined while that is not known. */
  coverage: CoverageRow[] | undefined;
  scope: PageScope;
  range: RawRange;
}

/** One metric: meaning, unit, caveat, what nvidia-smi calls it, and where it comes from here. */
export function MetricEntry({ uid, metric, coverage, scope, range }: Props) {
  const styles = useStyles2(getStyles);
  const { name, unit, kind, family, help, caveat, nvidiaSmi, aggregations } = metric;
  const query: GpuQuery = { refId: 'A', queryType: 'metric', metric: name, ...scope };
  const facts: Array<[string, string]> = [
    ['Caveat', caveat],
    ['nvidia-smi', nvidiaSmi],
    ['Aggregations', aggregations.join(', ')],
  ];
  return (
    <li className={styles.entry} aria-label={name}>
      <div className={styles.head}>
        <Text weight="medium" element="h2" variant="h5">
          {name}
        </Text>
        <Text color="secondary">{[unit, kind, family].filter(Boolean).join(' · ')}</Text>
        <span className={styles.actions}>
          <ExploreLink uid={uid} queries={[query]} range={range} />
        </span>
      </div>
      <div>{help}</div>
      <dl className={styles.facts}>
        {facts
          .filter(([, text]) => text !== '')
          .map(([title, text]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        <div>
          <dt>Here</dt>
          <dd>{coverage ? <Origins rows={coverage} /> : 'not known'}</dd>
        </div>
      </dl>
    </li>
  );
}

const COLORS: Record<CoverageStatus, BadgeColor> = {
  ok: 'green',
  partial: 'orange',
  missing: 'red',
  doubtful: 'purple',
};

function Origins({ rows }: { rows: CoverageRow[] }) {
  if (rows.length === 0) {
    return <>no cluster was looked at</>;
  }
  return (
    <>
      {rows.map((row) => (
        <div key={`${row.cluster}/${row.endpoint}/${row.series}`}>
          <Badge text={row.status} color={COLORS[row.status] ?? 'purple'} />{' '}
          {[row.cluster, row.dialect, row.series, row.total > 0 && `${row.covered} of ${row.total} devices`, row.why]
            .filter(Boolean)
            .join(' · ')}
          {row.enable && <Enable line={row.enable} />}
        </div>
      ))}
    </>
  );
}

/** The line that an exporter needs so that there is such a series. */
export function Enable({ line }: { line: string }) {
  const styles = useStyles2(getStyles);
  return (
    <div className={styles.enable}>
      <code>{line}</code>
      <ClipboardButton
        size="sm"
        variant="secondary"
        fill="text"
        icon="copy"
        aria-label={`Copy ${line}`}
        getText={() => line}
      >
        Copy
      </ClipboardButton>
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  entry: css({
    padding: theme.spacing(1.5, 0),
    borderTop: `1px solid ${theme.colors.border.weak}`,
    breakInside: 'avoid',
  }),
  head: css({ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: theme.spacing(1) }),
  actions: css({ marginLeft: 'auto', '@media print': { display: 'none' } }),
  facts: css({
    margin: theme.spacing(0.5, 0, 0, 0),
    '& > div': { display: 'flex', gap: theme.spacing(2) },
    dt: { flex: `0 0 ${theme.spacing(14)}`, color: theme.colors.text.secondary, fontWeight: 'normal' },
    dd: { margin: 0, maxWidth: theme.spacing(110) },
  }),
  enable: css({ display: 'flex', alignItems: 'center', gap: theme.spacing(1), code: { whiteSpace: 'pre-wrap' } }),
});
