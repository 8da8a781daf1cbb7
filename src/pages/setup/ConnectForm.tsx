import { Alert, Button, Combobox, Field, Input, LoadingPlaceholder, Stack, Text } from '@grafana/ui';
import React, { useCallback, useState } from 'react';

import { settingsPath } from '../../shared/dataSources';
import { messageOf } from '../../shared/messageOf';
import { useAnswer } from '../../shared/useAnswer';
import { may } from './access';
import { createSource, idOf, type NewSource, prometheusSources, readTemplate, type Template } from './sources';

const BY_HAND: Template = { name: 'default', endpoint: { url: '' }, secrets: [] };

/** Makes our data source after one of Prometheus that Grafana has already. Nothing is made before it is confirmed. */
export function ConnectForm({ onCreated }: { onCreated: () => void }) {
  const sources = prometheusSources();
  const [chosen, choose] = useState(sources[0]?.uid);
  const mayRead = may('datasources:read');
  if (!chosen || !mayRead) {
    return (
      <>
        <Text color="secondary">
          {mayRead
            ? 'This Grafana has no Prometheus data source to begin with: say where the Prometheus is that scrapes your GPUs.'
            : 'You may not read other data sources: say where the Prometheus is that scrapes your GPUs.'}
        </Text>
        <Confirm template={BY_HAND} onCreated={onCreated} />
      </>
    );
  }
  return (
    <>
      <Field noMargin label="Like this data source" description="Which Prometheus scrapes your GPUs?">
        <Combobox
          id="setup-like"
          width={40}
          options={sources.map(({ uid, name }) => ({ value: uid, label: name }))}
          value={chosen}
          onChange={({ value }) => choose(value)}
        />
      </Field>
      <Read key={chosen} uid={chosen} onCreated={onCreated} />
    </>
  );
}

function Read({ uid, onCreated }: { uid: string; onCreated: () => void }) {
  const { value, error } = useAnswer(useCallback(() => readTemplate(uid), [uid]));
  if (error) {
    return (
      <>
        <Alert severity="warning" title="Its settings cannot be read">
          {error}. Write the address yourself.
        </Alert>
        <Confirm template={BY_HAND} onCreated={onCreated} />
      </>
    );
  }
  return value ? (
    <Confirm template={value} onCreated={onCreated} />
  ) : (
    <LoadingPlaceholder text="Reading its settings…" />
  );
}

function Confirm({ template, onCreated }: { template: Template; onCreated: () => void }) {
  const [source, setSource] = useState<NewSource>({
    name: 'Warpwatch GPU',
    cluster: idOf(template.name),
    endpoint: template.endpoint,
  });
  const { made, problem, making, make } = useCreation(source, onCreated);
  const { name, cluster, endpoint } = source;
  if (made) {
    return <Made uid={made} secrets={template.secrets} />;
  }
  return (
    <form
      aria-label="New data source"
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      <Stack direction="column" gap={2}>
        <TextField
          label="Name"
          id="setup-name"
          value={name}
          onChange={(text) => setSource({ ...source, name: text })}
        />
        <TextField
          label="Cluster"
          id="setup-cluster"
          description="What you call the GPU cluster that this Prometheus scrapes."
          value={cluster}
          onChange={(text) => setSource({ ...source, cluster: text })}
        />
        <TextField
          label="Prometheus"
          id="setup-url"
          description="Its address, as Grafana’s server reaches it."
          value={endpoint.url}
          onChange={(url) => setSource({ ...source, endpoint: { ...endpoint, url } })}
        />
        {template.secrets.length > 0 && (
          <Alert severity="info" title="Secrets are not copied">
            It has {template.secrets.join(', ')}. Enter what is needed in the new data source’s settings.
          </Alert>
        )}
        {problem && (
          <Alert severity="error" title="The data source was not created">
            {problem}
          </Alert>
        )}
        <div>
          <Button type="submit" disabled={making || [name, cluster, endpoint.url].some((text) => text.trim() === '')}>
            Create data source
          </Button>
        </div>
      </Stack>
    </form>
  );
}

function useCreation(source: NewSource, onCreated: () => void) {
  const [made, setMade] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [making, setMaking] = useState(false);
  const make = async () => {
    setMaking(true);
    setProblem(undefined);
    try {
      setMade(await createSource(source));
      onCreated();
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setMaking(false);
    }
  };
  return { made, problem, making, make };
}

function Made({ uid, secrets }: { uid: string; secrets: string[] }) {
  return (
    <Alert severity="success" title="The data source was created">
      <a href={settingsPath(uid)}>Open its settings</a>
      {secrets.length > 0 ? `, enter ${secrets.join(', ')},` : ''} and press Save &amp; test.
    </Alert>
  );
}

interface TextProps {
  label: string;
  id: string;
  description?: string;
  value: string;
  onChange: (text: string) => void;
}

function TextField({ label, id, description, value, onChange }: TextProps) {
  return (
    <Field noMargin label={label} description={description}>
      <Input
        id={id}
        width={60}
        value={value}
        required
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Field>
  );
}
