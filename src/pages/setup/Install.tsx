import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Tab, TabContent, TabsBar, Text, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type PageState } from '../shared/usePageState';
import { type CommandBlock, Commands } from './Commands';
import guide from './install.json';

interface Environment {
  id: string;
  title: string;
  text: string;
  steps: CommandBlock[];
  /** How Prometheus finds the agents there. */
  scrape: CommandBlock;
}

const ENVIRONMENTS: Environment[] = guide.environments;

/** How the agent gets onto nodes, and how Prometheus finds it, for each kind of environment. The chosen one is in the address. */
export function Install({ state }: { state: PageState }) {
  const styles = useStyles2(getStyles);
  const chosen = ENVIRONMENTS.find(({ id }) => id === state.get('on')) ?? ENVIRONMENTS[0];
  return (
    <div>
      <TabsBar>
        {ENVIRONMENTS.map(({ id, title }) => (
          <Tab
            key={id}
            id={`setup-tab-${id}`}
            label={title}
            active={id === chosen.id}
            onChangeTab={() => state.set({ on: id })}
          />
        ))}
      </TabsBar>
      <TabContent>
        <div className={styles.panel} role="tabpanel" aria-labelledby={`setup-tab-${chosen.id}`}>
          <p>{chosen.text}</p>
          {[...chosen.steps, chosen.scrape].map((block) => (
            <Commands key={block.title} block={block} />
          ))}
          <Text color="secondary">
            Where agents ask for no token, leave out the line authorization. Agents send what GPUs do, and who works on
            them, to whoever may read: choose who that is before you open their port.
          </Text>
        </div>
      </TabContent>
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({ panel: css({ padding: theme.spacing(1.5) }) });
