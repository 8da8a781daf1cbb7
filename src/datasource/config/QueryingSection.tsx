import { ConfigSection } from '@grafana/plugin-ui';
import { Combobox, type ComboboxOption, Field, Input, Stack } from '@grafana/ui';
import React from 'react';

import { durationProblem } from '../editor/duration';
import { type NoticeLevel } from '../types';
import { type Options, withSettings } from './options';

const NOTICE_LEVELS: Array<ComboboxOption<NoticeLevel>> = [
  { value: 'info', label: 'Everything' },
  { value: 'warning', label: 'Warnings and errors' },
  { value: 'error', label: 'Errors only' },
];

interface Props {
  options: Options;
  onOptionsChange: (options: Options) => void;
}

/** What holds for every query. */
export function QueryingSection({ options, onOptionsChange }: Props) {
  const { scrapeInterval = '', noticeLevel = 'info' } = options.jsonData;
  const intervalProblem = durationProblem(scrapeInterval);

  return (
    <ConfigSection title="Querying">
      <Stack direction="column" gap={2}>
        <Field
          label="Scrape interval"
          description="How often Prometheus scrapes the GPU exporters: the finest step worth asking for"
          htmlFor="scrapeInterval"
          invalid={Boolean(intervalProblem)}
          error={intervalProblem}
          disabled={options.readOnly}
          noMargin
        >
          <Input
            id="scrapeInterval"
            value={scrapeInterval}
            placeholder="15s"
            width={16}
            onChange={(event) => onOptionsChange(withSettings(options, { scrapeInterval: event.currentTarget.value }))}
          />
        </Field>
        <Field
          label="Notices on panels"
          description="A part of the fleet that does not answer is told as a notice"
          htmlFor="noticeLevel"
          disabled={options.readOnly}
          noMargin
        >
          <Combobox
            id="noticeLevel"
            options={NOTICE_LEVELS}
            value={noticeLevel}
            width={30}
            disabled={options.readOnly}
            onChange={({ value }) => onOptionsChange(withSettings(options, { noticeLevel: value }))}
          />
        </Field>
      </Stack>
    </ConfigSection>
  );
}
