import { ConfigSection } from '@grafana/plugin-ui';
import React from 'react';

import { Row } from '../form/Folded';
import { useSetting } from '../form/Form';
import { NumberSetting } from '../form/NumberSetting';

/** How many live streams there may be. */
export function LiveSection() {
  const total = useSetting<number>('live.maxStreams');
  const perUser = useSetting<number>('live.maxStreamsPerUser');
  const most = total.value ?? Number(total.rule.default);
  const standard = Math.min(Number(perUser.rule.default), most);
  return (
    <ConfigSection
      title="Live streams"
      description="Every panel that goes on live is a stream; panels that ask for the same share one."
      isCollapsible
      isInitiallyOpen={false}
    >
      <Row>
        <NumberSetting
          path="live.maxStreams"
          label="Streams at the same time"
          description="On each Grafana server, 1 to 100,000"
          whole
        />
        <NumberSetting
          path="live.maxStreamsPerUser"
          label="Streams of one user"
          description="That the user was the first to watch, up to the streams of all"
          placeholder={String(standard)}
          most={most}
          whole
        />
      </Row>
    </ConfigSection>
  );
}
