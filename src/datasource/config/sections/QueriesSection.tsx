import { ConfigSection } from '@grafana/plugin-ui';
import React from 'react';

import { dialectsProblem } from '../checks/words';
import { ChoiceSetting } from '../form/ChoiceSetting';
import { Fields, Row } from '../form/Folded';
import { JsonSetting } from '../form/JsonSetting';
import { NumberSetting } from '../form/NumberSetting';
import { DurationSetting } from '../form/TextSetting';
import { COMPRESSION, LEVELS } from './choices';

const DIALECT =
  '[{"name": "acme", "labels": {"uuid": ["card"], "node": ["machine"]}, "series": {"acme_power": "gpu_power_watts"}}]';

/** What holds for every query. */
export function QueriesSection() {
  return (
    <ConfigSection
      title="Queries"
      description="Steps, how much a panel shows, and which notices it carries."
      isCollapsible
      isInitiallyOpen={false}
    >
      <Fields>
        <Row>
          <DurationSetting
            path="scrapeInterval"
            label="Scrape interval"
            description="How often Prometheus scrapes the GPUs, 1s to 1h: the finest step, and the base of rates"
          />
          <NumberSetting
            path="maxSeries"
            label="Series of a panel"
            description="Shown one by one; more become bands, ranks or a heatmap. Alert rules see all"
            whole
          />
        </Row>
        <ChoiceSetting
          path="noticeLevel"
          label="Notices on panels"
          description="Notices below this level are not shown"
          choices={LEVELS}
        />
        <ChoiceSetting
          path="failedEndpoint"
          label="When a server fails while others answer"
          description="The level of the notice. That a replica stood in for another is always info"
          choices={LEVELS}
        />
        <ChoiceSetting
          path="compression"
          label="Compressed answers"
          description="Saves bytes and costs more time than decoding them"
          choices={COMPRESSION}
        />
        <JsonSetting
          path="dialects"
          label="Exporters of your own"
          description="A list in JSON: for each exporter its name, what its labels mean, and which metric each of its series holds"
          placeholder={DIALECT}
          check={dialectsProblem}
        />
      </Fields>
    </ConfigSection>
  );
}
