import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { LinkButton, Text, useStyles2 } from '@grafana/ui';
import React from 'react';

import { NEW_DATA_SOURCE_PATH } from '../../shared/dataSources';

interface Step {
  title: string;
  text: string;
}

const STEPS: Step[] = [
  {
    title: 'Add the data source',
    text: 'Give each GPU cluster a name and the address of the Prometheus that scrapes its exporters: the Warpwatch agent, dcgm-exporter or nvidia_gpu_exporter.',
  },
  {
    title: 'Run the agent on the GPU nodes',
    text: 'It exports the metrics and streams live samples on one port, 9847. Without it you see history only.',
  },
  {
    title: 'Allow the nodes',
    text: 'Grafana dials only agents that the data source’s allow-list names: hosts, *.domain or a network.',
  },
  { title: 'Open a dashboard', text: 'The bundled dashboards take the data source from their first variable.' },
];

/** What to do when there is no data source of ours yet. */
export function FirstRun() {
  const styles = useStyles2(getStyles);
  return (
    <section aria-label="Getting started">
      <Text element="h3">Getting started</Text>
      <ol className={styles.steps}>
        {STEPS.map(({ title, text }) => (
          <li key={title}>
            <Text weight="medium">{title}</Text>
            <div>
              <Text color="secondary">{text}</Text>
            </div>
          </li>
        ))}
      </ol>
      <LinkButton icon="plus" href={NEW_DATA_SOURCE_PATH}>
        Add a Warpwatch GPU data source
      </LinkButton>
    </section>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  steps: css({
    margin: theme.spacing(2, 0),
    paddingLeft: theme.spacing(3),
    maxWidth: theme.spacing(90),
    li: { marginBottom: theme.spacing(1.5) },
  }),
});
