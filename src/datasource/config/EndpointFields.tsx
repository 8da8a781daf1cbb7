import { Button, Collapse, Field, Input, Stack } from '@grafana/ui';
import React, { useState } from 'react';

import { durationProblem } from '../editor/duration';
import { type EndpointSettings } from '../types';
import { AuthFields } from './AuthFields';
import { endpointSecrets, type Options } from './options';

interface Props {
  endpoint: EndpointSettings;
  onChange: (change: Partial<EndpointSettings>) => void;
  onRemove: () => void;
  options: Options;
  onOptionsChange: (options: Options) => void;
}

/** One Prometheus-compatible server: where it is, and below the fold how to reach it. */
export function EndpointFields({ endpoint, onChange, onRemove, options, onOptionsChange }: Props) {
  const [isOpen, setOpen] = useState(false);
  const prefix = endpointSecrets(endpoint.id);
  const disabled = options.readOnly;
  const timeoutProblem = durationProblem(endpoint.timeout ?? '');

  return (
    <div role="group" aria-label={`Endpoint ${endpoint.id}`}>
      <Stack direction="row" alignItems="flex-end" gap={1}>
        <Field
          label="Prometheus URL"
          description={`Named ${endpoint.id} in messages`}
          htmlFor={`${prefix}url`}
          required
          disabled={disabled}
          noMargin
        >
          <Input
            id={`${prefix}url`}
            value={endpoint.url}
            width={50}
            placeholder="http://prometheus:9090"
            onChange={(event) => onChange({ url: event.currentTarget.value })}
          />
        </Field>
        <Button
          variant="secondary"
          icon="trash-alt"
          disabled={disabled}
          aria-label={`Remove endpoint ${endpoint.id}`}
          onClick={onRemove}
        />
      </Stack>
      <Collapse label="Authentication, TLS and options" isOpen={isOpen} onToggle={() => setOpen(!isOpen)}>
        <Stack direction="column" gap={2}>
          <Field
            label="Timeout"
            description="How long one request may take"
            htmlFor={`${prefix}timeout`}
            invalid={Boolean(timeoutProblem)}
            error={timeoutProblem}
            disabled={disabled}
            noMargin
          >
            <Input
              id={`${prefix}timeout`}
              value={endpoint.timeout ?? ''}
              placeholder="30s"
              width={16}
              onChange={(event) => onChange({ timeout: event.currentTarget.value })}
            />
          </Field>
          <Field
            label="Replica label"
            description="The label that tells replicas of a highly available pair apart; it is dropped before series are compared"
            htmlFor={`${prefix}replicaLabel`}
            disabled={disabled}
            noMargin
          >
            <Input
              id={`${prefix}replicaLabel`}
              value={endpoint.replicaLabel ?? ''}
              placeholder="replica"
              width={30}
              onChange={(event) => onChange({ replicaLabel: event.currentTarget.value })}
            />
          </Field>
          <AuthFields
            prefix={prefix}
            access={endpoint}
            onChange={onChange}
            options={options}
            onOptionsChange={onOptionsChange}
          />
        </Stack>
      </Collapse>
    </div>
  );
}
