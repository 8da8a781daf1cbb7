import { Alert, type CellProps, type Column, Icon, InteractiveTable, Stack, Text } from '@grafana/ui';
import React, { useMemo } from 'react';

import { type Answer } from '../../shared/useAnswer';
import { Notices } from '../shared/Notices';
import { type PageState } from '../shared/usePageState';
import { ListButton } from './ListButton';
import { RuleDownloads } from './RuleDownloads';
import { type RecordedPart, recordedParts, type RecordedRules, rulesState } from './rules';
import { Step } from './Step';

/** The fourth step: what Prometheus records, and the rules to give it. */
export function RulesStep({ state, answer }: { state: PageState; answer: Answer<RecordedRules> }) {
  const parts = useMemo(() => (answer.value ? recordedParts(answer.value) : []), [answer.value]);
  return (
    <Step
      number={4}
      title="Load rules"
      state={state.uid ? rulesState(answer) : 'todo'}
      summary={state.uid ? summaryOf(parts, answer) : 'First connect Prometheus: only it knows what it records.'}
      actions={<ListButton name="gpu-recording-rules" rows={parts} />}
    >
      {answer.error && (
        <Alert severity="error" title="What Prometheus records is not known">
          {answer.error}
        </Alert>
      )}
      <Notices notices={answer.value?.notices ?? []} />
      {parts.length > 0 && (
        <>
          <InteractiveTable
            columns={COLUMNS}
            data={parts}
            getRowId={({ cluster, purpose }) => `${cluster}/${purpose}`}
          />
          <Text color="secondary">
            A rule without a result has no series: what your exporters do not measure is recorded nowhere. Whether alert
            rules are loaded cannot be seen from here: Prometheus lists them under Alerts, Grafana under Alerting.
          </Text>
        </>
      )}
      <RuleDownloads state={state} />
    </Step>
  );
}

function summaryOf(parts: RecordedPart[], { value, error }: Answer<RecordedRules>): string {
  if (error) {
    return 'What Prometheus records cannot be asked.';
  }
  if (!value) {
    return 'Asking Prometheus what it records…';
  }
  if (parts.length === 0) {
    return 'The data source has no Prometheus that could record anything.';
  }
  const missing = parts.filter(({ seen }) => seen === 0);
  if (missing.length === 0) {
    return 'Every Prometheus that answered records what panels and alerts look at.';
  }
  return missing.length === parts.length
    ? 'None of the recording rules has a series. Everything works without, but not everything as fast, and alerts not at all.'
    : `${missing.length} of ${parts.length} parts are not recorded; the list says what that costs.`;
}

const COLUMNS: Array<Column<RecordedPart>> = [
  { id: 'cluster', header: 'Cluster', sortType: 'alphanumeric' },
  { id: 'purpose', header: 'Recorded for', sortType: 'alphanumeric' },
  {
    id: 'seen',
    header: 'Groups with series',
    sortType: 'number',
    cell: ({ row: { original } }: CellProps<RecordedPart>) => (
      <Stack gap={1} alignItems="center">
        <Icon name={original.seen > 0 ? 'check' : 'exclamation-triangle'} />
        {`${original.seen} of ${original.groups}`}
      </Stack>
    ),
  },
  { id: 'missing', header: 'Groups without' },
  { id: 'cost', header: 'What that costs' },
];
