import { type AppPluginMeta } from '@grafana/data';
import { Alert, Button, Card, LinkButton, Stack, Text } from '@grafana/ui';
import React, { useState } from 'react';

import { NEW_DATA_SOURCE_PATH, ourDataSources, settingsPath } from '../../shared/dataSources';
import { messageOf } from '../../shared/messageOf';
import { saveAppState } from './saveAppState';

interface Props {
  meta: AppPluginMeta;
}

/** Turns the app on and off, and leads to its data sources, which hold all other settings. */
export function Configuration({ meta }: Props) {
  const [enabled, setEnabled] = useState(meta.enabled ?? false);
  const [saving, setSaving] = useState(false);
  const [problem, setProblem] = useState<string>();
  const changed = enabled !== (meta.enabled ?? false);

  const toggle = async () => {
    setSaving(true);
    setProblem(undefined);
    try {
      await saveAppState(meta, !enabled);
      setEnabled(!enabled);
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setSaving(false);
    }
  };

  return (
    <Stack direction="column" gap={3}>
      <section aria-label="State">
        <Stack direction="column" gap={1}>
          <Text element="h3">{enabled ? 'Warpwatch is enabled' : 'Warpwatch is disabled'}</Text>
          <Text color="secondary">
            Enabled, the data source can be used and the bundled dashboards are in the General folder. Disabled, these
            dashboards are removed, and with them what was changed in them.
          </Text>
          <div>
            <Button variant={enabled ? 'destructive' : 'primary'} disabled={saving} onClick={toggle}>
              {enabled ? 'Disable' : 'Enable'}
            </Button>
          </div>
          {problem && (
            <Alert severity="error" title={`Warpwatch was not ${enabled ? 'disabled' : 'enabled'}`}>
              {problem}
            </Alert>
          )}
          {changed && <Alert severity="success" title="Saved. Reload the page to see the menu change." />}
        </Stack>
      </section>
      {enabled && <DataSources />}
    </Stack>
  );
}

function DataSources() {
  const sources = ourDataSources();
  return (
    <section aria-label="Data sources">
      <Stack direction="column" gap={1}>
        <Text element="h3">Data sources</Text>
        {sources.length === 0 && <Text color="secondary">There is none of type Warpwatch GPU yet.</Text>}
        {sources.map(({ uid, name, isDefault }) => (
          <Card key={uid} href={settingsPath(uid)} noMargin>
            <Card.Heading>{name}</Card.Heading>
            {isDefault && <Card.Meta>default</Card.Meta>}
          </Card>
        ))}
        <div>
          <LinkButton icon="plus" variant="secondary" href={NEW_DATA_SOURCE_PATH}>
            Add data source
          </LinkButton>
        </div>
      </Stack>
    </section>
  );
}
