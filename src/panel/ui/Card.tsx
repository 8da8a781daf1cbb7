import { css } from '@emotion/css';
import { type GrafanaTheme2, type LinkModel } from '@grafana/data';
import { IconButton, LinkButton, useStyles2, useTheme2 } from '@grafana/ui';
import React, { useEffect, useRef } from 'react';

import { type Pixel } from '../colour/palettes';
import { type Description } from '../describe';
import { ageText } from './ageText';
import { Sparkline } from './Sparkline';
import { Swatch } from './Swatch';

interface Props {
  description: Description;
  colour: Pixel;
  links: LinkModel[];
  /** A pinned card stays, and its links can be followed. */
  pinned: boolean;
  onClose: () => void;
}

/** What is known of the cell under the pointer, or of the one that was clicked. */
export function Card({ description, colour, links, pinned, onClose }: Props) {
  const styles = useStyles2(getStyles);
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (pinned) {
      const wanted = ['a', 'button'].map((name) => card.current?.querySelector<HTMLElement>(name));
      wanted.find(Boolean)?.focus();
    }
  }, [pinned]);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      onClose();
    }
  };
  const body = (
    <>
      <div className={styles.header}>
        <Swatch colour={colour} />
        <strong className={styles.name}>{description.name}</strong>
        {pinned && <IconButton name="times" aria-label="Close" onClick={onClose} />}
      </div>
      <Now description={description} />
      {description.reasons.map(([name, text]) => (
        <Row key={name} name={name} text={text} />
      ))}
      {description.identity.map(([name, text]) => (
        <Row key={name} name={name} text={text} />
      ))}
      {pinned ? (
        <Links links={links} />
      ) : (
        links.length > 0 && <div className={styles.hint}>Click for links, double-click for {links[0].title}</div>
      )}
    </>
  );
  return pinned ? (
    <div ref={card} role="dialog" aria-label={description.name} className={styles.card} onKeyDown={onKeyDown}>
      {body}
    </div>
  ) : (
    <div className={styles.card}>{body}</div>
  );
}

function Now({ description: { value, metric, last, ageMs, verdict, recent } }: { description: Description }) {
  const styles = useStyles2(getStyles);
  const theme = useTheme2();
  const age = ageMs === undefined ? '' : ageText(ageMs);
  return (
    <>
      {verdict && <div className={styles.value}>{verdict}</div>}
      {metric && (
        <div>
          <span className={styles.value}>{value ?? 'No value'}</span>{' '}
          <span className={styles.hint}>{[metric, value || last ? age : ''].filter(Boolean).join(' · ')}</span>
        </div>
      )}
      <Sparkline samples={recent} color={theme.colors.primary.text} />
    </>
  );
}

function Row({ name, text }: { name: string; text: string }) {
  const styles = useStyles2(getStyles);
  return (
    <div className={styles.row}>
      <span className={styles.hint}>{name}</span>
      <span className={styles.text}>{text}</span>
    </div>
  );
}

function Links({ links }: { links: LinkModel[] }) {
  const styles = useStyles2(getStyles);
  if (links.length === 0) {
    return <div className={styles.hint}>The data does not say which node this is of, so there is no page to open.</div>;
  }
  return (
    <div className={styles.links}>
      {links.map((link) => (
        <LinkButton
          key={link.href}
          size="sm"
          variant="secondary"
          href={link.href}
          target={link.target}
          icon={link.target === '_blank' ? 'external-link-alt' : undefined}
          onClick={link.onClick && ((event) => link.onClick?.(event))}
        >
          {link.title}
        </LinkButton>
      ))}
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  card: css({
    display: 'flex',
    flexDirection: 'column',
    gap: theme.spacing(0.5),
    maxWidth: 380,
    padding: theme.spacing(1),
    fontSize: theme.typography.bodySmall.fontSize,
  }),
  header: css({ display: 'flex', alignItems: 'center', gap: theme.spacing(1) }),
  name: css({ flexGrow: 1, overflowWrap: 'anywhere' }),
  value: css({ fontWeight: theme.typography.fontWeightMedium }),
  hint: css({ color: theme.colors.text.secondary }),
  row: css({ display: 'grid', gridTemplateColumns: '90px 1fr', gap: theme.spacing(1) }),
  text: css({ overflowWrap: 'anywhere' }),
  links: css({ display: 'flex', flexWrap: 'wrap', gap: theme.spacing(0.5), paddingTop: theme.spacing(0.5) }),
});
