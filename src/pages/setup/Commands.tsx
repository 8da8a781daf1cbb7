import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { ClipboardButton, useStyles2 } from '@grafana/ui';
import React from 'react';

/** Lines that somebody copies, and the file of this repository that has them word for word. */
export interface CommandBlock {
  title: string;
  from: string;
  lines: string[];
}

/** A block of commands or of configuration, with a button that copies it. */
export function Commands({ block: { title, lines } }: { block: CommandBlock }) {
  const styles = useStyles2(getStyles);
  const text = lines.join('\n');
  return (
    <figure className={styles.block} aria-label={title}>
      <figcaption className={styles.title}>
        {title}
        <ClipboardButton
          className={styles.copy}
          size="sm"
          variant="secondary"
          icon="copy"
          aria-label={`Copy: ${title}`}
          getText={() => text}
        >
          Copy
        </ClipboardButton>
      </figcaption>
      <pre className={styles.text}>{text}</pre>
    </figure>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  block: css({ margin: theme.spacing(0, 0, 1.5, 0), maxWidth: theme.spacing(125), breakInside: 'avoid' }),
  title: css({
    display: 'flex',
    alignItems: 'center',
    justifyContent: 'space-between',
    gap: theme.spacing(1),
    marginBottom: theme.spacing(0.5),
    color: theme.colors.text.primary,
  }),
  copy: css({ flexShrink: 0, '@media print': { display: 'none' } }),
  text: css({
    margin: 0,
    padding: theme.spacing(1),
    whiteSpace: 'pre-wrap',
    overflowWrap: 'anywhere',
    color: theme.colors.text.primary,
    background: theme.colors.background.secondary,
    border: 'none',
  }),
});
