import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Alert, Icon, LinkButton, Text, TextLink, useStyles2 } from '@grafana/ui';
import React from 'react';

import { APP_ID } from '../../shared/ids';
import { type Answer } from '../../shared/useAnswer';
import { may } from './access';
import { type Bundled, dashboardsState } from './dashboards';
import { ListButton } from './ListButton';
import { Step } from './Step';

/** The third step: the dashboards that come with the app. */
export function DashboardsStep({ answer }: { answer: Answer<Bundled[]> }) {
  const styles = useStyles2(getStyles);
  const dashboards = answer.value ?? [];
  const missing = dashboards.filter(({ found }) => !found);
  return (
    <Step
      number={3}
      title="Enable dashboards"
      state={dashboardsState(answer)}
      summary={summaryOf(answer)}
      actions={<ListButton name="gpu-dashboards" rows={dashboards} />}
    >
      {answer.error && (
        <Alert severity="error" title="The dashboards cannot be searched for">
          {answer.error}
        </Alert>
      )}
      {dashboards.length > 0 && (
        <ul className={styles.list} aria-label="Bundled dashboards">
          {dashboards.map(({ uid, name, found }) => (
            <li key={uid}>
              <Icon name={found ? 'check' : 'times'} />{' '}
              {found ? <TextLink href={`/d/${uid}`}>{name}</TextLink> : `${name} – not here, or not for you to see`}
            </li>
          ))}
        </ul>
      )}
      {missing.length > 0 && <Import />}
    </Step>
  );
}

function summaryOf({ value, error }: Answer<Bundled[]>): string {
  if (error) {
    return 'Whether the dashboards are there is not known.';
  }
  if (!value) {
    return 'Looking for the dashboards…';
  }
  if (value.length === 0) {
    return 'Grafana does not tell the app which dashboards came with it.';
  }
  const found = value.filter((one) => one.found).length;
  return found === value.length
    ? `All ${found} dashboards are there.`
    : `${found} of ${value.length} dashboards are there, of those that you may see.`;
}

function Import() {
  if (!may('plugins:write')) {
    return (
      <Text color="secondary">
        Grafana imports them when an administrator enables the app. You may not: ask one of this organisation.
      </Text>
    );
  }
  return (
    <>
      <Text>
        Grafana imports them when the app is enabled. One that was deleted since is imported again under Dashboards of
        the app’s configuration.
      </Text>
      <div>
        <LinkButton variant="secondary" icon="apps" href={`/plugins/${APP_ID}?page=dashboards`}>
          Import dashboards
        </LinkButton>
      </div>
    </>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  list: css({
    listStyle: 'none',
    display: 'grid',
    gridTemplateColumns: `repeat(auto-fill, minmax(${theme.spacing(40)}, 1fr))`,
    gap: theme.spacing(0.5, 2),
  }),
});
