import { Alert, Badge, LinkButton, Stack, Text, TextLink } from '@grafana/ui';
import React from 'react';

import { NEW_DATA_SOURCE_PATH, settingsPath } from '../../shared/dataSources';
import { type Answer } from '../../shared/useAnswer';
import { PATHS } from '../shared/paths';
import { may } from './access';
import { ConnectForm } from './ConnectForm';
import { type CheckedSource } from './sources';
import { Step, type StepState } from './Step';

interface Props {
  answer: Answer<CheckedSource[]>;
  /** Looks again, after something was made. */
  onChange: () => void;
}

/** The first step: a data source of ours that its servers answer. */
export function ConnectStep({ answer, onChange }: Props) {
  const sources = answer.value ?? [];
  return (
    <Step
      number={1}
      title="Connect Prometheus"
      state={connectState(answer)}
      summary={summaryOf(answer)}
      actions={
        sources.length > 0 && (
          <LinkButton size="sm" variant="secondary" href={PATHS.status}>
            Servers and agents
          </LinkButton>
        )
      }
    >
      {sources.map((source) => (
        <Source key={source.uid} source={source} />
      ))}
      {answer.value && sources.length === 0 && <Create onChange={onChange} />}
    </Step>
  );
}

export function connectState({ value }: Answer<CheckedSource[]>): StepState {
  if (!value) {
    return 'asking';
  }
  const well = value.filter(({ health }) => health?.ok).length;
  if (well === value.length && well > 0) {
    return 'done';
  }
  if (well > 0) {
    return 'partial';
  }
  return value.length > 0 && value.every(({ error }) => error) ? 'unknown' : 'todo';
}

function summaryOf({ value }: Answer<CheckedSource[]>): string {
  if (!value) {
    return 'Asking the data sources how they are…';
  }
  if (value.length === 0) {
    return 'There is no Warpwatch GPU data source that you can see. One names the Prometheus of each GPU cluster.';
  }
  const well = value.filter(({ health }) => health?.ok).length;
  return well === value.length
    ? `${count(well, 'data source')} and all their servers answer.`
    : `${well} of ${count(value.length, 'data source')} work. Open the settings of the others: Save & test says what to change.`;
}

function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? '' : 's'}`;
}

function Source({ source: { uid, name, health, error } }: { source: CheckedSource }) {
  const link = (
    <TextLink href={settingsPath(uid)} inline>
      Settings
    </TextLink>
  );
  if (error) {
    return (
      <Alert severity="error" title={`${name} cannot be asked`}>
        {error} {link}
      </Alert>
    );
  }
  return (
    <div>
      <Stack gap={1} alignItems="center" wrap="wrap">
        <Text weight="medium">{name}</Text>
        <Badge text={health?.ok ? 'Working' : 'Needs attention'} color={health?.ok ? 'green' : 'orange'} />
        {link}
      </Stack>
      <ul style={{ paddingLeft: 20 }}>
        {(health?.details.length ? health.details : [health?.message ?? '']).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}

function Create({ onChange }: { onChange: () => void }) {
  if (!may('datasources:create')) {
    return (
      <Text color="secondary">
        You may not create data sources. Ask an administrator of this Grafana organisation to open this page.
      </Text>
    );
  }
  return (
    <>
      <ConnectForm onCreated={onChange} />
      <div>
        <LinkButton variant="secondary" icon="plus" href={NEW_DATA_SOURCE_PATH}>
          Begin with an empty data source
        </LinkButton>
      </div>
    </>
  );
}
