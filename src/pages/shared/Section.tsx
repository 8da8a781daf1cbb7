import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import React, { type ReactNode } from 'react';

interface Props {
  title: string;
  /** Buttons and links at its end; they are not printed. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A part of a page, found by its title. */
export function Section({ title, actions, children }: Props) {
  const styles = useStyles2(getStyles);
  return (
    <section className={styles.section} aria-label={title}>
      <div className={styles.head}>
        <h2 className={styles.title}>{title}</h2>
        <div className={styles.actions}>{actions}</div>
      </div>
      {children}
    </section>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  section: css({ marginBottom: theme.spacing(3), '@media print': { breakInside: 'avoid-page' } }),
  head: css({ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: theme.spacing(1) }),
  title: css({ ...theme.typography.h4, margin: theme.spacing(0, 0, 1, 0), flexGrow: 1 }),
  actions: css({
    display: 'flex',
    gap: theme.spacing(1),
    marginBottom: theme.spacing(1),
    '@media print': { display: 'none' },
  }),
});
