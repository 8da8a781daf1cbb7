import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Pagination, useStyles2 } from '@grafana/ui';
import React, { useMemo, useState } from 'react';

import { type Known, valueText, verdictText } from '../describe';
import { type Dimension, DIMENSION_NAMES, slicesOf } from '../fleet/Fleet';
import { type Group } from '../layout/groups';
import { Swatch } from './Swatch';

const PAGE_SIZE = 50;

const HEADERS: Partial<Record<Dimension, string>> = {
  cluster: 'Cluster',
  node: 'Node',
  gpu: 'GPU',
  mig_id: 'MIG',
  mig_profile: 'Profile',
  model: 'Model',
  job: 'Job',
};

interface Props {
  known: Known;
  groups: Group[];
  colours: Uint32Array;
  showMig: boolean;
  title: string;
  height: number;
}

/** The same cells as a table, for those who cannot see the map or want to read numbers. */
export function CellList({ known, groups, colours, showMig, title, height }: Props) {
  const styles = useStyles2(getStyles);
  const [page, setPage] = useState(1);
  const { fleet } = known;
  const cells = useMemo(
    () => groups.flatMap(({ gpus }) => gpus.flatMap((gpu) => (showMig ? [gpu, ...slicesOf(fleet, gpu)] : [gpu]))),
    [groups, fleet, showMig]
  );
  const columns = useMemo(
    () => DIMENSION_NAMES.filter((name) => HEADERS[name] && fleet.texts[name].some((text) => text !== '')),
    [fleet]
  );
  const pages = Math.max(1, Math.ceil(cells.length / PAGE_SIZE));
  const current = Math.min(page, pages);
  return (
    <div className={styles.box} style={{ height }}>
      <div className={styles.scroll} tabIndex={0} role="region" aria-label={`Table of ${title}`}>
        <table className={styles.table}>
          <caption className="sr-only">{title}</caption>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {HEADERS[name]}
                </th>
              ))}
              {known.verdicts && <th scope="col">Verdict</th>}
              {known.values.field && <th scope="col">Value</th>}
            </tr>
          </thead>
          <tbody>
            {cells.slice((current - 1) * PAGE_SIZE, current * PAGE_SIZE).map((cell) => (
              <tr key={cell}>
                {columns.map((name) => (
                  <td key={name}>{fleet.texts[name][cell]}</td>
                ))}
                {known.verdicts && <td>{verdictText(known, cell) || 'not judged'}</td>}
                {known.values.field && (
                  <td>
                    <Swatch colour={colours[cell]} /> {valueText(known, cell) || 'no value'}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {pages > 1 && <Pagination currentPage={current} numberOfPages={pages} onNavigate={setPage} showSmallVersion />}
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  box: css({ display: 'flex', flexDirection: 'column', gap: theme.spacing(1) }),
  scroll: css({ flexGrow: 1, overflow: 'auto' }),
  table: css({
    width: '100%',
    fontSize: theme.typography.bodySmall.fontSize,
    'th, td': { padding: theme.spacing(0.5, 1), whiteSpace: 'nowrap', textAlign: 'left' },
    th: { position: 'sticky', top: 0, background: theme.colors.background.primary },
    'tbody tr': { borderTop: `1px solid ${theme.colors.border.weak}` },
    caption: { position: 'absolute', width: 1, height: 1, overflow: 'hidden', clipPath: 'inset(50%)' },
  }),
});
