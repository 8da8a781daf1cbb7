import { ConfigSection } from '@grafana/plugin-ui';
import { Button, Card, Field, Input, Stack } from '@grafana/ui';
import React from 'react';

import { EndpointFields } from './EndpointFields';
import {
  addCluster,
  addEndpoint,
  changeCluster,
  changeEndpoint,
  clustersOf,
  type Options,
  removeCluster,
  removeEndpoint,
} from './options';

interface Props {
  options: Options;
  onOptionsChange: (options: Options) => void;
}

/** Where history comes from: the GPU clusters and the servers that know them. */
export function ClustersSection({ options, onOptionsChange }: Props) {
  const clusters = clustersOf(options);
  const disabled = options.readOnly;

  return (
    <ConfigSection
      title="Clusters"
      description="History comes from here. Several endpoints of one cluster are replicas or shards: an answer needs one of them."
    >
      <Stack direction="column" gap={2}>
        {clusters.map((cluster, index) => (
          // Clusters have no id of their own, and a key made of the name would lose the focus on every keystroke.
          <Card key={index} noMargin>
            <Card.Heading>{cluster.name || 'Unnamed cluster'}</Card.Heading>
            <Card.Description>
              <Stack direction="column" gap={2}>
                <Field
                  label="Name"
                  description="Becomes the label cluster of every series"
                  htmlFor={`cluster-${index}-name`}
                  required
                  invalid={nameProblem(cluster.name, index, clusters) !== undefined}
                  error={nameProblem(cluster.name, index, clusters)}
                  disabled={disabled}
                  noMargin
                >
                  <Input
                    id={`cluster-${index}-name`}
                    value={cluster.name}
                    width={30}
                    onChange={(event) =>
                      onOptionsChange(changeCluster(options, index, { name: event.currentTarget.value }))
                    }
                  />
                </Field>
                {cluster.endpoints.map((endpoint) => (
                  <EndpointFields
                    key={endpoint.id}
                    endpoint={endpoint}
                    options={options}
                    onOptionsChange={onOptionsChange}
                    onChange={(change) => onOptionsChange(changeEndpoint(options, index, endpoint.id, change))}
                    onRemove={() => onOptionsChange(removeEndpoint(options, index, endpoint.id))}
                  />
                ))}
              </Stack>
            </Card.Description>
            <Card.Actions>
              <Button
                variant="secondary"
                icon="plus"
                disabled={disabled}
                onClick={() => onOptionsChange(addEndpoint(options, index))}
              >
                Add endpoint
              </Button>
              <Button
                variant="secondary"
                icon="trash-alt"
                disabled={disabled}
                aria-label={`Remove cluster ${cluster.name}`}
                onClick={() => onOptionsChange(removeCluster(options, index))}
              >
                Remove cluster
              </Button>
            </Card.Actions>
          </Card>
        ))}
        <div>
          <Button icon="plus" disabled={disabled} onClick={() => onOptionsChange(addCluster(options))}>
            Add cluster
          </Button>
        </div>
      </Stack>
    </ConfigSection>
  );
}

function nameProblem(name: string, index: number, clusters: Array<{ name: string }>): string | undefined {
  if (name.trim() === '') {
    return 'Give the cluster a name.';
  }
  return clusters.some((other, i) => i !== index && other.name.trim() === name.trim())
    ? 'Another cluster has this name.'
    : undefined;
}
