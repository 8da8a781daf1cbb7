import { ConfigSection } from '@grafana/plugin-ui';
import React from 'react';

import { type AlertmanagerSettings } from '../../types';
import { alertmanagerUrlProblem } from '../checks/network';
import { idProblem } from '../checks/words';
import { Fields, Folded } from '../form/Folded';
import { useForm } from '../form/Form';
import { ItemList } from '../form/ItemList';
import { DurationSetting, TextSetting } from '../form/TextSetting';
import { firstFree, type Options, withValue } from '../options';
import { alertmanagerSecrets, forget, rename } from '../secrets';
import { AccessFields } from './AccessFields';

/** Who knows what fires now, and what is silenced. */
export function AlertmanagersSection() {
  return (
    <ConfigSection
      title="Alertmanagers"
      description="Asked for what fires now and what is silenced. An account that may read is enough; nobody’s identity is forwarded."
      isCollapsible
      isInitiallyOpen={false}
    >
      <ItemList<AlertmanagerSettings>
        path="alertmanagers"
        noun="Alertmanager"
        nameOf={({ id }, index) => id || String(index + 1)}
        create={(options) => ({ id: firstFree('alerts', idsOf(options)), url: '' })}
        onRemove={(options, { id, headers }) => forget(options, alertmanagerSecrets(id), headers)}
      >
        {(manager, path, index) => <Alertmanager manager={manager} path={path} index={index} />}
      </ItemList>
    </ConfigSection>
  );
}

interface Props {
  manager: AlertmanagerSettings;
  path: string;
  index: number;
}

function Alertmanager({ manager: { id = '', headers }, path, index }: Props) {
  const { options, change } = useForm();
  const others = idsOf(options).filter((_, i) => i !== index);
  return (
    <Fields>
      <TextSetting
        path={`${path}.url`}
        label="Alertmanager URL"
        description="Up to, and without, /api/v2; of Mimir with /alertmanager"
        placeholder="http://alertmanager:9093"
        width={60}
        required
        check={alertmanagerUrlProblem}
      />
      <TextSetting
        path={`${path}.cluster`}
        label="Cluster"
        description="Of alerts and silences that have no label cluster"
        placeholder="Any"
        width={30}
      />
      <Folded title="Authentication, TLS, headers and timeout">
        <TextSetting
          path={`${path}.id`}
          label="Id"
          description="Names it in messages and in the keys of its secrets. After a change, secrets that are stored have to be entered again."
          width={30}
          required
          lazily
          check={(text) => idProblem(text, others)}
          onText={(to) =>
            change(
              rename(withValue(options, `${path}.id`, to), alertmanagerSecrets(id), alertmanagerSecrets(to), headers)
            )
          }
        />
        <DurationSetting
          path={`${path}.timeout`}
          label="Timeout"
          description="Of one request, 1s to 1m. An answer does without an Alertmanager that takes longer, and says so"
        />
        <AccessFields path={path} prefix={alertmanagerSecrets(id)} tenant />
      </Folded>
    </Fields>
  );
}

function idsOf(options: Options): string[] {
  return (options.jsonData.alertmanagers ?? []).map(({ id }) => id);
}
