import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Stack, useStyles2 } from '@grafana/ui';
import React from 'react';

import { ExploreLink } from '../shared/Actions';
import { type RawRange } from '../shared/ask';
import { numberOf, type Row, textOf } from '../shared/rows';
import { sinceText } from '../shared/times';
import { healthOfRow } from './healthQuery';

/** Columns of a judgement in the order in which somebody wants to know them. */
const PARTS: Array<[title: string, column: string]> = [
  ['Evidence', 'evidence'],
  ['What to do', 'action'],
  ['Who acts', 'who_acts'],
  ['Other reasons', 'more'],
  ['Confidence', 'confidence'],
  ['Precursors of a failure', 'risk_parts'],
  ['Silenced', 'silenced'],
  ['Not measured here', 'missing'],
];

/** Why a row has its severity: what was seen, how sure that is, and what could not be seen. */
export function Why({ uid, row, range }: { uid: string; row: Row; range: RawRange }) {
  const styles = useStyles2(getStyles);
  const parts = PARTS.filter(([, column]) => textOf(row, column) !== '');
  const risk = numberOf(row, 'risk');
  return (
    <Stack direction="column" gap={1}>
      <dl className={styles.parts}>
        {parts.map(([title, column]) => (
          <Part key={column} title={title} text={textOf(row, column)} />
        ))}
        {risk !== undefined && risk > 0 && <Part title="Risk" text={`${Math.round(100 * risk)} % (no prediction)`} />}
        {sinceText(row) && <Part title="Since" text={sinceText(row)} />}
      </dl>
      <div>
        <ExploreLink uid={uid} queries={[healthOfRow(row)]} range={range} />
      </div>
    </Stack>
  );
}

function Part({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{text}</dd>
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  parts: css({
    margin: theme.spacing(1, 0),
    '& > div': { display: 'flex', gap: theme.spacing(2) },
    dt: { flex: `0 0 ${theme.spacing(22)}`, color: theme.colors.text.secondary, fontWeight: 'normal' },
    dd: { margin: 0, maxWidth: theme.spacing(110), whiteSpace: 'pre-wrap' },
  }),
});
