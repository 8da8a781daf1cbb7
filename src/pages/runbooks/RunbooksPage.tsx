import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { PluginPage } from '@grafana/runtime';
import { EmptyState, FilterInput, Text, TextLink, useStyles2 } from '@grafana/ui';
import React from 'react';
import { useSearchParams } from 'react-router-dom';

import { runbookPath } from '../shared/paths';
import { type Runbook, RUNBOOKS, searchRunbooks } from './runbooks';

/** Finds a runbook by XID, alert rule, or any word of it. */
export function RunbooksPage() {
  const styles = useStyles2(getStyles);
  const [search, setSearch] = useSearchParams();
  const text = search.get('search') ?? '';
  const found = searchRunbooks(text);
  return (
    <PluginPage subTitle="What a fault means, what it touches, and what to do about it">
      <div className={styles.search}>
        <FilterInput
          aria-label="Search runbooks"
          placeholder="XID 79, GpuXidRepeat, NVLink, row remap…"
          value={text}
          escapeRegex={false}
          onChange={(value) => setSearch(value === '' ? {} : { search: value }, { replace: true })}
        />
      </div>
      <div role="status" className={styles.count}>
        {found.length === RUNBOOKS.length
          ? `${found.length} runbooks`
          : `${found.length} of ${RUNBOOKS.length} runbooks`}
      </div>
      {found.length === 0 && <EmptyState variant="not-found" message={`No runbook has “${text}”`} />}
      <ul className={styles.list}>
        {found.map((book) => (
          <Entry key={book.id} book={book} />
        ))}
      </ul>
    </PluginPage>
  );
}

function Entry({ book }: { book: Runbook }) {
  const styles = useStyles2(getStyles);
  const names = [
    ...book.alerts,
    ...(book.xids.length > 0 ? [`XID ${book.xids.map(({ code }) => code).join(', ')}`] : []),
  ];
  return (
    <li className={styles.entry}>
      <div className={styles.head}>
        <TextLink href={runbookPath(book.id)} inline={false}>
          {book.title}
        </TextLink>
        <Text color="secondary" variant="bodySmall">
          {names.join(' · ')}
        </Text>
      </div>
      <div>{book.meaning}</div>
    </li>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  search: css({ maxWidth: theme.spacing(70), marginBottom: theme.spacing(1), '@media print': { display: 'none' } }),
  count: css({ color: theme.colors.text.secondary, marginBottom: theme.spacing(1) }),
  list: css({ listStyle: 'none', margin: 0, maxWidth: theme.spacing(120) }),
  entry: css({
    padding: theme.spacing(1.5, 0),
    borderTop: `1px solid ${theme.colors.border.weak}`,
    breakInside: 'avoid',
  }),
  head: css({ display: 'flex', flexWrap: 'wrap', alignItems: 'baseline', columnGap: theme.spacing(1) }),
});
