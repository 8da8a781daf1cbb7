import { EditorField, EditorRow, EditorSwitch } from '@grafana/plugin-ui';
import { Combobox } from '@grafana/ui';
import React from 'react';

import { type GpuQuery } from '../types';
import { FORMATS } from './choices';
import { durationProblem } from './duration';
import { TextField } from './TextField';

interface Props {
  id: string;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
}

/** How the answer is shaped and named, whatever was asked. */
export function OptionsRow({ id, query, onChange }: Props) {
  return (
    <EditorRow>
      <EditorField label="Format" width={18}>
        <Combobox
          id={`${id}-format`}
          options={FORMATS}
          value={query.format ?? 'time_series'}
          onChange={({ value }) => onChange({ format: value })}
        />
      </EditorField>
      <EditorField label="Instant" tooltip="One value for each series, at the end of the range">
        <EditorSwitch
          id={`${id}-instant`}
          value={query.instant ?? false}
          onChange={(event) => onChange({ instant: event.currentTarget.checked })}
        />
      </EditorField>
      <TextField
        id={`${id}-legend`}
        label="Legend"
        value={query.legend ?? ''}
        placeholder="Automatic"
        tooltip="Names each series, for example {{node}} · GPU {{gpu}}. Empty: what tells the series apart."
        width={30}
        onCommit={(legend) => onChange({ legend })}
      />
      <TextField
        id={`${id}-min-step`}
        label="Min step"
        value={query.minStep ?? ''}
        placeholder="Automatic"
        tooltip="The shortest distance between two points, such as 15s"
        width={14}
        check={durationProblem}
        onCommit={(minStep) => onChange({ minStep: minStep.trim() })}
      />
    </EditorRow>
  );
}
