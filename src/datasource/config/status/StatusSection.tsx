import { ConfigSection } from '@grafana/plugin-ui';
import { Button, Divider } from '@grafana/ui';
import React, { useState } from 'react';

import { Fields } from '../form/Folded';
import { useForm } from '../form/Form';
import { type Options } from '../options';
import { Results } from './Results';

/**
 * How servers and agents answer, one by one: after every save, and when somebody asks. Before anything is saved there is nothing
 * to say.
 */
export function StatusSection() {
  const { options } = useForm();
  const [first] = useState({ version: options.version ?? 0, hasServers: hasServers(options) });
  const [presses, setPresses] = useState(0);
  const saves = (options.version ?? 0) - first.version;
  const round = saves + presses;
  if (!first.hasServers && saves === 0) {
    return null;
  }
  return (
    <>
      <Divider />
      <ConfigSection title="Connections" description="Each server and agent as saved: what it is, and what to do next.">
        <Fields>
          <div>
            <Button variant="secondary" icon="sync" onClick={() => setPresses(presses + 1)}>
              {round === 0 ? 'Check connections' : 'Check again'}
            </Button>
          </div>
          {round > 0 && <Results uid={options.uid} round={round} />}
        </Fields>
      </ConfigSection>
    </>
  );
}

function hasServers({ jsonData: { clusters, agents } }: Options): boolean {
  return Boolean(clusters?.length || agents?.static?.length || agents?.dns?.length || agents?.files?.length);
}
