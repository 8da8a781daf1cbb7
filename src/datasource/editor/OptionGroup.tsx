import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { EditorRow } from '@grafana/plugin-ui';
import { Icon, useStyles2 } from '@grafana/ui';
import React, { type ReactNode, useId, useState } from 'react';

interface Props {
  title: string;
  /** What is set, shown while the group is closed. */
  summary: string[];
  children: ReactNode;
  openAtFirst?: boolean;
}

/** Fields that most people leave alone, folded away behind a line that says what is set. */
export function OptionGroup({ title, summary, children, openAtFirst = false }: Props) {
  const styles = useStyles2(getStyles);
  const [open, setOpen] = useState(openAtFirst);
  const id = useId();

  return (
    <div className={styles.group}>
      <button
        type="button"
        className={styles.header}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <Icon name={open ? 'angle-down' : 'angle-right'} />
        <span className={styles.title}>{title}</span>
        {!open && summary.map((text) => <span key={text}>{text}</span>)}
      </button>
      <div id={id} hidden={!open}>
        {open && <EditorRow>{children}</EditorRow>}
      </div>
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  group: css({ width: '100%' }),
  header: css({
    display: 'flex',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: theme.spacing(0, 2),
    width: '100%',
    padding: theme.spacing(0.5, 1),
    border: 'none',
    borderRadius: theme.shape.radius.default,
    background: 'none',
    color: theme.colors.text.secondary,
    fontSize: theme.typography.bodySmall.fontSize,
    textAlign: 'left',
    '&:hover': { background: theme.colors.action.hover, color: theme.colors.text.primary },
    '&:focus-visible': { outline: `2px solid ${theme.colors.primary.main}`, outlineOffset: -2 },
    svg: { marginRight: theme.spacing(-1) },
  }),
  title: css({ color: theme.colors.text.primary, fontWeight: theme.typography.fontWeightMedium }),
});
