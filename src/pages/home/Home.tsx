import { type PluginInclude, PluginIncludeType } from '@grafana/data';
import { PluginPage } from '@grafana/runtime';
import { LinkButton, Stack, Text } from '@grafana/ui';
import React from 'react';

import { ourDataSources } from '../../shared/dataSources';
import { FirstRun } from './FirstRun';
import { SourceStatus } from './SourceStatus';

/** The type does not tell that Grafana passes on the uid which plugin.json gives a dashboard. */
type Include = PluginInclude & { uid?: string };

interface Props {
  /** What plugin.json includes, the bundled dashboards among it. */
  includes: Include[];
}

/** The bundled dashboards, and whether what they are to show arrives. */
export function Home({ includes }: Props) {
  const sources = ourDataSources();
  const dashboards = includes.filter(({ type, uid }) => type === PluginIncludeType.dashboard && uid);

  return (
    <PluginPage subTitle="Whether each data source answers, and the dashboards that show it">
      <Stack direction="column" gap={4}>
        {sources.length === 0 ? (
          <FirstRun />
        ) : (
          <>
            <nav aria-label="Dashboards">
              <Stack direction="column" gap={1}>
                <Text element="h3">Dashboards</Text>
                <Stack direction="row" gap={1} wrap="wrap">
                  {dashboards.map(({ uid, name }) => (
                    <LinkButton key={uid} icon="apps" variant="secondary" href={`/d/${uid}`}>
                      {name}
                    </LinkButton>
                  ))}
                </Stack>
              </Stack>
            </nav>
            {sources.map((source) => (
              <SourceStatus key={source.uid} source={source} />
            ))}
          </>
        )}
      </Stack>
    </PluginPage>
  );
}
