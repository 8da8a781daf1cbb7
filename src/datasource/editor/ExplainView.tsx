import { css } from '@emotion/css';
import { type GrafanaTheme2, type PanelData } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import React, { type ReactNode } from 'react';

import { type DataSource } from '../DataSource';
import { queryTypeOf } from '../query';
import { type GpuQuery } from '../types';
import { explanationOf, type Explanation } from './explanation';
import { OptionGroup } from './OptionGroup';
import { useAvailability } from './useAvailability';

interface Props {
  datasource: DataSource;
  query: GpuQuery;
  data: PanelData | undefined;
}

/** How the last answer was made: from which series, in which cluster, by what questions, and whether it goes on. */
export function ExplainView({ datasource, query, data }: Props) {
  const explanation = explanationOf(data, query.refId);
  return (
    <OptionGroup title="Explain" summary={explanation ? [summaryOf(explanation)] : []}>
      {explanation ? (
        <Lines explanation={explanation}>
          {queryTypeOf(query) === 'metric' && <SeriesLine datasource={datasource} query={query} />}
        </Lines>
      ) : (
        <span>Run the query to see how it is answered.</span>
      )}
    </OptionGroup>
  );
}

function summaryOf({ error, frames, rows, live }: Explanation): string {
  return error ?? `${count(frames, 'frame')}, ${count(rows, 'row')}. ${live}.`;
}

function count(n: number, what: string): string {
  return `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`;
}

function Lines({ explanation, children }: { explanation: Explanation; children: ReactNode }) {
  const styles = useStyles2(getStyles);
  const { clusters, asked, remarks, cached, live, notices, error, frames, rows } = explanation;
  return (
    <dl className={styles.list} aria-label="How the query is answered">
      {error && <Line name="Error">{error}</Line>}
      <Line name="Answer">{`${count(frames, 'frame')}, ${count(rows, 'row')}`}</Line>
      {children}
      {clusters.length > 0 && <Line name="Clusters">{clusters.join(', ')}</Line>}
      {cached && <Line name="From the cache">{cached}</Line>}
      <Line name="Goes on">{live}</Line>
      {asked.length > 0 && (
        <Line name="Asked of servers">
          <pre className={styles.asked}>{asked.join('\n')}</pre>
        </Line>
      )}
      {remarks.map((remark) => (
        <Line key={remark} name="Beside">
          {remark}
        </Line>
      ))}
      {notices.map((notice) => (
        <Line key={notice} name="Notice">
          {notice}
        </Line>
      ))}
    </dl>
  );
}

function SeriesLine({ datasource, query }: Omit<Props, 'data'>) {
  const available = useAvailability(datasource, query)?.get(query.metric ?? '');
  return available?.measured ? <Line name="Read from">{available.from.join('; ')}</Line> : null;
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  list: css({
    display: 'grid',
    gridTemplateColumns: 'max-content minmax(0, 1fr)',
    gap: theme.spacing(0.5, 2),
    width: '100%',
    margin: 0,
    color: theme.colors.text.secondary,
    fontSize: theme.typography.bodySmall.fontSize,
    dt: { fontWeight: theme.typography.fontWeightMedium },
    dd: { margin: 0, overflowWrap: 'anywhere' },
  }),
  asked: css({
    margin: 0,
    padding: theme.spacing(0.5, 1),
    maxHeight: theme.spacing(30),
    fontSize: theme.typography.bodySmall.fontSize,
    whiteSpace: 'pre-wrap',
  }),
});
