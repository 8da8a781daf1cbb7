import { Text } from '@grafana/ui';
import React from 'react';

import { type AgentFileSettings, type DnsAgentSettings, type StaticAgentSettings } from '../../types';
import { readFileSd } from '../checks/fileSd';
import { AGENT_PORT, agentAddressProblem, dnsProblem } from '../checks/network';
import { Fields, Folded, Row } from '../form/Folded';
import { useForm, useSetting } from '../form/Form';
import { ItemList } from '../form/ItemList';
import { JsonSetting } from '../form/JsonSetting';
import { DurationSetting, TextSetting } from '../form/TextSetting';
import { clustersOf, type Options } from '../options';

/** Agents that the settings list, each way below a fold of its own. */
export function AgentLists() {
  return (
    <>
      <Folded title="Agents by address">
        <ItemList<StaticAgentSettings>
          path="agents.static"
          noun="agent"
          nameOf={({ address }, index) => address || String(index + 1)}
          create={(options) => ({ cluster: firstCluster(options), address: '' })}
          plain
        >
          {(_, path) => (
            <Row>
              <TextSetting path={`${path}.cluster`} label="Cluster" width={20} />
              <TextSetting
                path={`${path}.address`}
                label="Address"
                placeholder={`gpu-1.example.com:${AGENT_PORT}`}
                required
                check={agentAddressProblem}
              />
            </Row>
          )}
        </ItemList>
      </Folded>
      <Folded
        title="Agents by DNS"
        description="dns+host:port for the addresses of a host; dnssrv+name for those of an SRV record’s hosts; dnssrvnoa+name, or the name alone, for those hosts by name"
      >
        <ItemList<DnsAgentSettings>
          path="agents.dns"
          noun="DNS name"
          nameOf={({ name }, index) => name || String(index + 1)}
          create={(options) => ({ cluster: firstCluster(options), name: '' })}
          plain
        >
          {(_, path) => (
            <Row>
              <TextSetting path={`${path}.cluster`} label="Cluster" width={20} />
              <TextSetting
                path={`${path}.name`}
                label="Name"
                placeholder="_warpwatch._tcp.gpu.example.com"
                required
                check={dnsProblem}
              />
              <DurationSetting path={`${path}.interval`} label="Looked up every" />
            </Row>
          )}
        </ItemList>
      </Folded>
      <Folded
        title="Agents by file"
        description="The contents of files for Prometheus’s file_sd_configs, in YAML or JSON. Of the labels cluster, node and __scheme__ count."
      >
        <ItemList<AgentFileSettings>
          path="agents.files"
          noun="file"
          nameOf={({ name }, index) => name || String(index + 1)}
          create={(options) => ({ cluster: firstCluster(options), content: '' })}
        >
          {(_, path, index) => <File path={path} index={index} />}
        </ItemList>
      </Folded>
    </>
  );
}

const CONTENT = `- targets: [lab-1.example.com, lab-2.example.com:${AGENT_PORT}]\n  labels: {cluster: lab}`;

function File({ path, index }: { path: string; index: number }) {
  const content = useSetting<unknown>(`${path}.content`).value ?? '';
  const { agents } = readFileSd(typeof content === 'string' ? content : JSON.stringify(content));
  const files = useForm().options.jsonData.agents?.files ?? [];
  return (
    <Fields>
      <Row>
        <TextSetting
          path={`${path}.name`}
          label="Name"
          description="As it stands in messages"
          placeholder={`file ${index + 1}`}
          width={20}
          check={(text) =>
            files.some((other, i) => i !== index && other.name === text) ? 'Another file has this name.' : undefined
          }
        />
        <TextSetting path={`${path}.cluster`} label="Cluster" description="Of targets without that label" width={20} />
      </Row>
      <JsonSetting
        path={`${path}.content`}
        label="Content"
        placeholder={CONTENT}
        required
        check={(text) => readFileSd(text).problem}
      />
      {agents !== undefined && (
        <Text color="secondary" variant="bodySmall">
          {agents === 1 ? 'Names 1 agent.' : `Names ${agents} agents.`}
        </Text>
      )}
    </Fields>
  );
}

function firstCluster(options: Options): string {
  return clustersOf(options)[0]?.name ?? '';
}
