import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Alert, Combobox, EmptyState, FilterInput, LoadingPlaceholder, useStyles2 } from '@grafana/ui';
import React, { useCallback, useState } from 'react';
import { useParams } from 'react-router-dom';

import { type Coverage, type Metric } from '../../datasource/types';
import { useAnswer } from '../../shared/useAnswer';
import { type PageView } from '../shared/Page';
import { fromSegment } from '../shared/paths';
import { getResource } from '../shared/resource';
import { MetricEntry } from './MetricEntry';
import { matching } from './matching';

/** As many are shown at once; a search finds the others. */
const SHOWN = 100;

/** The catalogue, searched by words and by family. */
export function MetricsView({ uid, state, tick }: PageView) {
  const styles = useStyles2(getStyles);
  const wanted = fromSegment(useParams().name);
  const [leftBehind, setLeftBehind] = useState<string>();
  const metrics = useAnswer(useCallback(() => getResource<Metric[]>(uid, 'metrics'), [uid]));
  const clusters = JSON.stringify(state.scope.clusters ?? []);
  const coverage = useAnswer(
    useCallback(() => {
      void tick;
      return getResource<Coverage>(uid, 'coverage', { cluster: JSON.parse(clusters) });
    }, [uid, clusters, tick])
  );
  if (metrics.error) {
    return (
      <Alert severity="error" title="The catalogue cannot be read">
        {metrics.error}
      </Alert>
    );
  }
  if (!metrics.value) {
    return <LoadingPlaceholder text="Reading the catalogue…" />;
  }
  const families = [...new Set(metrics.value.map(({ family }) => family))];
  // Who empties the search wants all metrics, not the address' own one back.
  const text = state.get('search') || (wanted === leftBehind ? '' : wanted);
  const found = matching(metrics.value, { text, family: state.get('family') });
  return (
    <>
      <div className={styles.search}>
        <FilterInput
          aria-label="Search metrics"
          placeholder="power, nvidia-smi field, MIG, ECC…"
          value={text}
          escapeRegex={false}
          onChange={(search) => {
            setLeftBehind(wanted);
            state.set({ search });
          }}
        />
        <Combobox
          aria-label="Family"
          placeholder="All families"
          isClearable
          width={30}
          options={families.map((family) => ({ value: family }))}
          value={state.get('family') || null}
          onChange={(option) => state.set({ family: option?.value ?? '' })}
        />
      </div>
      {coverage.error && (
        <Alert severity="warning" title="Where metrics come from here is not known">
          {coverage.error}
        </Alert>
      )}
      <div role="status" className={styles.count}>
        {found.length} of {metrics.value.length} metrics{found.length > SHOWN && `; the first ${SHOWN} are shown`}
      </div>
      {found.length === 0 && <EmptyState variant="not-found" message={`No metric has “${text}”`} />}
      <ul className={styles.list}>
        {found.slice(0, SHOWN).map((metric) => (
          <MetricEntry
            key={metric.name}
            uid={uid}
            metric={metric}
            coverage={coverage.value?.rows.filter((row) => row.metric === metric.name)}
            scope={state.scope}
            range={state.range}
          />
        ))}
      </ul>
    </>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  search: css({
    display: 'flex',
    gap: theme.spacing(1),
    maxWidth: theme.spacing(100),
    marginBottom: theme.spacing(1),
    '@media print': { display: 'none' },
  }),
  count: css({ color: theme.colors.text.secondary, marginBottom: theme.spacing(1) }),
  list: css({ listStyle: 'none', margin: 0 }),
});
