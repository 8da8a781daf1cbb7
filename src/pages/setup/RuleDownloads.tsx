import { Alert, Button, RadioButtonGroup, Stack, Text } from '@grafana/ui';
import React, { useState } from 'react';

import { messageOf } from '../../shared/messageOf';
import { download } from '../shared/csv';
import { type PageState } from '../shared/usePageState';
import { Commands } from './Commands';
import guide from './install.json';
import { ruleFile, type RuleFormat, type RuleKind, ruleText } from './rules';

const FORMATS: Array<{ value: RuleFormat; label: string }> = [
  { value: 'prometheus', label: 'Prometheus' },
  { value: 'PrometheusRule', label: 'Prometheus operator' },
  { value: 'grafana', label: 'Grafana' },
];

const KINDS: Array<{ kind: RuleKind; label: string }> = [
  { kind: 'recording', label: 'Recording rules' },
  { kind: 'alerts', label: 'Alerts on health' },
  { kind: 'efficiency', label: 'Alerts on efficiency' },
];

/** What to do with a file of each format. */
const WHERE: Record<RuleFormat, string> = {
  prometheus:
    'Name the files under rule_files of Prometheus, or give them to the ruler of Thanos, Mimir or VictoriaMetrics.',
  PrometheusRule: 'Apply them with kubectl to a namespace that your Prometheus looks for rules in.',
  grafana:
    'Put them into provisioning/alerting of Grafana, and change datasourceUid where yours is not warpwatch. Recording rules stay with Prometheus.',
};

/** The rules as files. They come with the app, so they can be taken while nothing is connected yet. */
export function RuleDownloads({ state }: { state: PageState }) {
  const [problem, setProblem] = useState<string>();
  const format = FORMATS.find(({ value }) => value === state.get('rules'))?.value ?? 'prometheus';
  const take = async (kind: RuleKind) => {
    setProblem(undefined);
    try {
      const text = await ruleText(kind, format);
      if (text !== undefined) {
        download(ruleFile(kind, format), text, 'application/yaml;charset=utf-8');
      }
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <Stack direction="column" gap={1}>
      <div>
        <RadioButtonGroup
          aria-label="For whom the rules are written"
          options={FORMATS}
          value={format}
          onChange={(value) => state.set({ rules: value === 'prometheus' ? '' : value })}
        />
      </div>
      <Text color="secondary">{WHERE[format]}</Text>
      <Stack gap={1} wrap="wrap">
        {KINDS.map(({ kind, label }) => (
          <Button
            key={kind}
            variant="secondary"
            icon="download-alt"
            disabled={kind === 'recording' && format === 'grafana'}
            onClick={() => void take(kind)}
          >
            {label}
          </Button>
        ))}
      </Stack>
      {problem && (
        <Alert severity="error" title="The rules could not be loaded">
          {problem}
        </Alert>
      )}
      <Commands block={guide.rules} />
      <Text color="secondary">Loading rules is for whoever runs Prometheus; it takes no rights in Grafana.</Text>
    </Stack>
  );
}
