import { Alert } from '@grafana/ui';
import React from 'react';

import { type EndpointSettings } from '../../types';
import { prometheusUrlProblem } from '../checks/network';
import { idProblem, labelProblem } from '../checks/words';
import { ChoiceSetting } from '../form/ChoiceSetting';
import { Fields, Folded, Row } from '../form/Folded';
import { useForm } from '../form/Form';
import { LinesSetting } from '../form/LinesSetting';
import { NumberSetting } from '../form/NumberSetting';
import { DurationSetting, TextSetting } from '../form/TextSetting';
import { clustersOf, withValue } from '../options';
import { endpointSecrets, rename } from '../secrets';
import { AccessFields } from './AccessFields';
import { COMPRESSION, FORWARDING, ROLES } from './choices';

interface Props {
  path: string;
  endpoint: EndpointSettings;
  /** All endpoints of the cluster. */
  siblings: EndpointSettings[];
}

/** One Prometheus-compatible server: where it is, and below the fold how to reach it. */
export function EndpointFields({ path, endpoint, siblings }: Props) {
  return (
    <Fields>
      <TextSetting
        path={`${path}.url`}
        label="Prometheus URL"
        description="Up to, and without, /api/v1"
        placeholder="http://prometheus:9090"
        width={60}
        required
        check={prometheusUrlProblem}
      />
      {(siblings.length > 1 || endpoint.role) && (
        <ChoiceSetting
          path={`${path}.role`}
          label="Role"
          description="What it is to the other endpoints of the cluster"
          choices={ROLES}
          problem={roleProblem(endpoint, siblings)}
        />
      )}
      <Folded title="Authentication, TLS and headers">
        <Forwarding path={path} endpoint={endpoint} />
        <AccessFields path={path} prefix={endpointSecrets(endpoint.id)} tenant />
      </Folded>
      <Folded title="Limits and replicas">
        <Limits path={path} endpoint={endpoint} />
      </Folded>
    </Fields>
  );
}

function Forwarding({ path, endpoint }: Omit<Props, 'siblings'>) {
  const { options, change } = useForm();
  const at = `${path}.oauthPassThru`;
  const hasOwn = endpoint.auth === 'basic' || endpoint.auth === 'bearer';
  const always = endpoint.oauthPassThru === true;
  return (
    <>
      <ChoiceSetting
        path={at}
        label="Forward OAuth identity"
        description="Whether the identity of whoever asks is sent along"
        choices={FORWARDING}
        problem={always && hasOwn ? 'Choose no authentication: both would fill the header Authorization.' : undefined}
        onChoice={(value) => {
          const chosen = withValue(options, at, value);
          // Grafana hands identities over only where the data source as a whole asks for them.
          change(value ? withValue(chosen, 'oauthPassThru', true) : chosen);
        }}
      />
      {always && options.jsonData.oauthPassThru !== true && (
        <Alert severity="warning" title="Grafana hands over no identity">
          Choose “Forward OAuth Identity” under Defaults of all servers, too.
        </Alert>
      )}
    </>
  );
}

function Limits({ path, endpoint }: Omit<Props, 'siblings'>) {
  const { options, change } = useForm();
  const ids = clustersOf(options).flatMap(({ endpoints = [] }) => endpoints.map(({ id }) => id));
  const others = ids.filter((id, index) => id !== endpoint.id || ids.indexOf(id) !== index);
  const labels = [endpoint.replicaLabel, ...(endpoint.replicaLabels ?? [])].filter((label) => label !== undefined);
  return (
    <>
      <TextSetting
        path={`${path}.id`}
        label="Id"
        description="Names the endpoint in messages and in the keys of its secrets. After a change, secrets that are stored have to be entered again."
        width={30}
        required
        lazily
        check={(text) => idProblem(text, text === endpoint.id ? others : ids)}
        onText={(id) =>
          change(
            rename(
              withValue(options, `${path}.id`, id),
              endpointSecrets(endpoint.id),
              endpointSecrets(id),
              endpoint.headers
            )
          )
        }
      />
      <Row>
        <DurationSetting path={`${path}.timeout`} label="Timeout" description="Of one request, 1s to 10m" />
        <NumberSetting
          path={`${path}.concurrency`}
          label="Requests at the same time"
          description="The others wait"
          whole
        />
      </Row>
      <LinesSetting
        path={`${path}.replicaLabels`}
        label="Replica labels"
        description="External labels that tell replicas apart, dropped before series are compared; one a line"
        placeholder="prometheus_replica"
        rows={2}
        lines={[...new Set(labels)]}
        check={labelProblem}
        onLines={(lines) =>
          // The older key for a single label is read as one of these.
          change(withValue(withValue(options, `${path}.replicaLabel`, undefined), `${path}.replicaLabels`, lines))
        }
      />
      <ChoiceSetting
        path={`${path}.compression`}
        label="Compressed answers"
        choices={[{ value: undefined, label: 'As the data source' }, ...COMPRESSION]}
      />
    </>
  );
}

function roleProblem(endpoint: EndpointSettings, siblings: EndpointSettings[]): string | undefined {
  const replicas = siblings.filter(({ role }) => role === 'replica').length;
  return endpoint.role === 'replica' && replicas === 1 && siblings.length > 1
    ? 'It is the only replica: mark the endpoints that hold the same as replicas, too, or choose none.'
    : undefined;
}
