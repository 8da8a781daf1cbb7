import React from 'react';

import { type AgentGroupSettings } from '../../types';
import { hostProblem } from '../checks/network';
import { idProblem } from '../checks/words';
import { ChoiceSetting } from '../form/ChoiceSetting';
import { Fields, Folded } from '../form/Folded';
import { useForm } from '../form/Form';
import { ItemList } from '../form/ItemList';
import { LinesSetting } from '../form/LinesSetting';
import { TextSetting } from '../form/TextSetting';
import { firstFree, type Options, withValue } from '../options';
import { forget, groupSecrets, rename } from '../secrets';
import { AccessFields } from './AccessFields';
import { SCHEMES } from './choices';

/** Agents that are reached with credentials of their own. The first group that has the host counts. */
export function AgentGroups() {
  return (
    <ItemList<AgentGroupSettings>
      path="agents.groups"
      noun="group"
      nameOf={({ id }, index) => id || String(index + 1)}
      create={(options) => ({ id: firstFree('group', idsOf(options)), hosts: [] })}
      onRemove={(options, { id, headers }) => forget(options, groupSecrets(id), headers)}
    >
      {(group, path, index) => <Group group={group} path={path} index={index} />}
    </ItemList>
  );
}

interface Props {
  group: AgentGroupSettings;
  path: string;
  index: number;
}

function Group({ group: { id = '', headers }, path, index }: Props) {
  const { options, change } = useForm();
  const others = idsOf(options).filter((_, i) => i !== index);
  return (
    <Fields>
      <TextSetting
        path={`${path}.id`}
        label="Id"
        description="Names the group in messages and in the keys of its secrets. After a change, secrets that are stored have to be entered again."
        width={30}
        required
        lazily
        check={(text) => idProblem(text, others)}
        onText={(to) =>
          change(rename(withValue(options, `${path}.id`, to), groupSecrets(id), groupSecrets(to), headers))
        }
      />
      <LinesSetting
        path={`${path}.hosts`}
        label="Hosts"
        description="Names, *.domain, addresses and networks as discovery writes them, one a line"
        placeholder="lab-*.example.com"
        required
        check={hostProblem}
      />
      <ChoiceSetting
        path={`${path}.scheme`}
        label="Scheme"
        description="Wins over what discovery says"
        choices={[{ value: undefined, label: 'As discovery says' }, ...SCHEMES]}
      />
      <Folded title="Authentication, TLS and headers">
        <AccessFields path={path} prefix={groupSecrets(id)} />
      </Folded>
    </Fields>
  );
}

function idsOf(options: Options): string[] {
  return (options.jsonData.agents?.groups ?? []).map(({ id }) => id);
}
