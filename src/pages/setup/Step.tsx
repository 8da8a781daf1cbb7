import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Badge, type BadgeColor, type IconName, Stack, useStyles2 } from '@grafana/ui';
import React, { type ReactNode } from 'react';

/** How far a step is, by what was found. `unknown`: it could not be asked, which is neither good nor bad. */
export type StepState = 'asking' | 'done' | 'partial' | 'todo' | 'unknown';

const STATES: Record<StepState, { text: string; color: BadgeColor; icon: IconName }> = {
  asking: { text: 'Looking…', color: 'blue', icon: 'sync' },
  done: { text: 'Done', color: 'green', icon: 'check' },
  partial: { text: 'In part', color: 'orange', icon: 'exclamation-triangle' },
  todo: { text: 'To do', color: 'purple', icon: 'arrow-right' },
  unknown: { text: 'Not known', color: 'orange', icon: 'question-circle' },
};

interface Props {
  number: number;
  title: string;
  state: StepState;
  /** What was found, or what to do next, in a sentence. */
  summary: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}

/** A step of the guide: what it is for, how far it is, and what to do. */
export function Step({ number, title, state, summary, actions, children }: Props) {
  const styles = useStyles2(getStyles);
  const { text, color, icon } = STATES[state];
  return (
    <section className={styles.step} aria-label={title} data-state={state}>
      <div className={styles.head}>
        <h2 className={styles.title}>
          {number}. {title}
        </h2>
        <Badge key={state} text={text} color={color} icon={icon} />
        <div className={styles.actions}>{actions}</div>
      </div>
      <p className={styles.summary} role="status">
        {summary}
      </p>
      <Stack direction="column" gap={2}>
        {children}
      </Stack>
    </section>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  step: css({
    padding: theme.spacing(2),
    marginBottom: theme.spacing(2),
    border: `1px solid ${theme.colors.border.weak}`,
    borderRadius: theme.shape.radius.default,
    '@media print': { border: 'none', padding: 0 },
  }),
  head: css({ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: theme.spacing(1) }),
  title: css({ ...theme.typography.h4, margin: 0 }),
  actions: css({
    display: 'flex',
    gap: theme.spacing(1),
    marginLeft: 'auto',
    '@media print': { display: 'none' },
  }),
  summary: css({ maxWidth: theme.spacing(110), margin: theme.spacing(1, 0) }),
});
