import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { PluginPage } from '@grafana/runtime';
import { Button, ClipboardButton, EmptyState, LinkButton, TextLink, useStyles2 } from '@grafana/ui';
import React, { type ReactNode } from 'react';
import { useParams } from 'react-router-dom';

import { fromSegment, PATHS } from '../shared/paths';
import { findRunbook, type Runbook } from './runbooks';

const PARENT = { text: 'Runbooks', url: PATHS.runbooks };

/** One runbook, in the order in which somebody works through it at night. */
export function RunbookPage() {
  const id = fromSegment(useParams().id);
  const book = findRunbook(id);
  if (!book) {
    return (
      <PluginPage pageNav={{ text: id, parentItem: PARENT }}>
        <EmptyState
          variant="not-found"
          message={`There is no runbook “${id}”`}
          button={<LinkButton href={`${PATHS.runbooks}?${new URLSearchParams({ search: id })}`}>Search</LinkButton>}
        />
      </PluginPage>
    );
  }
  return (
    <PluginPage
      pageNav={{ text: book.title, parentItem: PARENT }}
      actions={
        <Button variant="secondary" onClick={() => window.print()}>
          Print
        </Button>
      }
    >
      <Steps book={book} />
    </PluginPage>
  );
}

function Steps({ book }: { book: Runbook }) {
  const styles = useStyles2(getStyles);
  return (
    <article className={styles.page}>
      <Step title="What it means">{book.meaning}</Step>
      <Step title="What else it touches">{book.blast}</Step>
      <Step title="First look">
        <p className={styles.note}>These only look, and change nothing.</p>
        <ul className={styles.commands}>
          {book.commands.map((command) => (
            <Command key={command} text={command} />
          ))}
        </ul>
      </Step>
      <Step title="How to decide">{book.decision}</Step>
      <Step title="Safe action">{book.action}</Step>
      <Step title="When to escalate">{book.escalation}</Step>
      <Step title="How to see that it is over">{book.recovery}</Step>
      <About book={book} />
    </article>
  );
}

function Command({ text }: { text: string }) {
  const styles = useStyles2(getStyles);
  return (
    <li className={styles.command}>
      <code className={styles.code}>{text}</code>
      <ClipboardButton
        className={styles.copy}
        size="sm"
        variant="secondary"
        icon="copy"
        aria-label={`Copy ${text}`}
        getText={() => text}
      >
        Copy
      </ClipboardButton>
    </li>
  );
}

/** What leads to it, and where to read on. */
function About({ book: { xids, alerts, links } }: { book: Runbook }) {
  const lists = [
    { title: 'XIDs', items: xids.map(({ text }) => text) },
    { title: 'Alert rules', items: alerts },
    { title: 'Read on', items: links.map((link) => <Outside key={link} href={link} />) },
  ];
  return (
    <>
      {lists
        .filter(({ items }) => items.length > 0)
        .map(({ title, items }) => (
          <Step key={title} title={title}>
            <ul>
              {items.map((item, i) => (
                <li key={i}>{item}</li>
              ))}
            </ul>
          </Step>
        ))}
    </>
  );
}

function Outside({ href }: { href: string }) {
  return (
    <TextLink href={href} external inline={false}>
      {href}
    </TextLink>
  );
}

function Step({ title, children }: { title: string; children: ReactNode }) {
  const styles = useStyles2(getStyles);
  return (
    <section aria-label={title} className={styles.step}>
      <h2 className={styles.title}>{title}</h2>
      <div>{children}</div>
    </section>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  page: css({ maxWidth: theme.spacing(110) }),
  step: css({ marginBottom: theme.spacing(3), breakInside: 'avoid', ul: { paddingLeft: theme.spacing(2.5) } }),
  title: css({ ...theme.typography.h4, marginBottom: theme.spacing(0.5) }),
  note: css({ color: theme.colors.text.secondary, marginBottom: theme.spacing(0.5) }),
  commands: css({ listStyle: 'none', '&&': { paddingLeft: 0 } }),
  command: css({
    display: 'flex',
    alignItems: 'center',
    gap: theme.spacing(1),
    marginBottom: theme.spacing(0.5),
  }),
  code: css({
    flexGrow: 1,
    padding: theme.spacing(0.5, 1),
    whiteSpace: 'pre-wrap',
    wordBreak: 'break-word',
    background: theme.colors.background.secondary,
  }),
  copy: css({ flexShrink: 0, '@media print': { display: 'none' } }),
});
