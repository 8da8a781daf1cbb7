import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Icon, Stack, useStyles2 } from '@grafana/ui';
import React, { type ReactNode, useId, useState } from 'react';

interface Props {
  title: string;
  description?: string;
  children: ReactNode;
}

/** Fields that most people leave alone, folded away below a line that opens them. */
export function Folded({ title, description, children }: Props) {
  const styles = useStyles2(getStyles);
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <div>
      <button
        type="button"
        className={styles.header}
        aria-label={`${open ? 'Collapse' : 'Expand'} section ${title}`}
        aria-expanded={open}
        aria-controls={id}
        aria-describedby={description && `${id}-about`}
        onClick={() => setOpen(!open)}
      >
        <Icon name={open ? 'angle-down' : 'angle-right'} />
        {title}
      </button>
      {description && (
        <div id={`${id}-about`} className={styles.description}>
          {description}
        </div>
      )}
      <div id={id} className={styles.content} hidden={!open}>
        {open && <Fields>{children}</Fields>}
      </div>
    </div>
  );
}

/** Fields one below the other. */
export function Fields({ children }: { children: ReactNode }) {
  return (
    <Stack direction="column" gap={2}>
      {children}
    </Stack>
  );
}

/** Fields side by side, as far as there is room. */
export function Row({ children }: { children: ReactNode }) {
  return (
    <Stack gap={2} wrap="wrap" alignItems="flex-start">
      {children}
    </Stack>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  header: css({
    display: 'flex',
    alignItems: 'center',
    gap: theme.spacing(0.5),
    padding: theme.spacing(0.5, 1, 0.5, 0),
    border: 'none',
    borderRadius: theme.shape.radius.default,
    background: 'none',
    color: theme.colors.text.primary,
    fontWeight: theme.typography.fontWeightMedium,
    textAlign: 'left',
    '&:hover': { background: theme.colors.action.hover },
    '&:focus-visible': { outline: `2px solid ${theme.colors.primary.main}` },
  }),
  description: css({
    marginLeft: theme.spacing(2.5),
    color: theme.colors.text.secondary,
    ...theme.typography.bodySmall,
  }),
  content: css({
    marginTop: theme.spacing(1),
    marginLeft: theme.spacing(0.75),
    paddingLeft: theme.spacing(1.75),
    borderLeft: `1px solid ${theme.colors.border.weak}`,
  }),
});
