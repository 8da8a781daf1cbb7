import { EditorField, EditorSwitch } from '@grafana/plugin-ui';
import { Combobox } from '@grafana/ui';
import React from 'react';

import { queryTypeOf } from '../query';
import { type GpuQuery } from '../types';
import { FORMATS, MATRIX } from './choices';
import { durationProblem } from './duration';
import { LinesFields } from './LinesFields';
import { OptionGroup } from './OptionGroup';
import { TextField } from './TextField';

interface Props {
  id: string;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
}

/** How the answer of a metric or an expression is shaped and named. */
export function OptionsRow({ id, query, onChange }: Props) {
  const isMetric = queryTypeOf(query) === 'metric';
  const isMatrix = query.format === 'matrix';

  return (
    <OptionGroup title="Options" summary={summaryOf(query)}>
      <EditorField label="Format" width={18}>
        <Combobox
          id={`${id}-format`}
          width={18}
          options={isMetric ? [...FORMATS, MATRIX] : FORMATS}
          value={query.format ?? 'time_series'}
          onChange={({ value }) => onChange(value === 'matrix' ? ofMatrix() : { format: value })}
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
      <MinStepField id={id} query={query} onChange={onChange} />
      {!isMatrix && <LinesFields id={id} query={query} onChange={onChange} />}
    </OptionGroup>
  );
}

/** The shortest distance between two points. */
export function MinStepField({ id, query, onChange }: Props) {
  return (
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
  );
}

/** A matrix has every device on its own. */
function ofMatrix(): Partial<GpuQuery> {
  return { format: 'matrix', aggregateBy: 'identity', reduce: undefined };
}

function summaryOf({ legend, format, instant, minStep, reduce, maxSeries, exemplars }: GpuQuery): string[] {
  const label = [...FORMATS, MATRIX].find(({ value }) => value === (format ?? 'time_series'))?.label ?? format;
  return [
    `Legend: ${legend || 'automatic'}`,
    `Format: ${label}`,
    `Step: ${minStep || 'automatic'}`,
    ...(instant ? ['Instant'] : []),
    ...(reduce?.mode && reduce.mode !== 'auto' ? [`Lines: ${reduce.mode}${reduce.k ? ` ${reduce.k}` : ''}`] : []),
    ...(maxSeries ? [`Most lines: ${maxSeries}`] : []),
    ...(exemplars ? ['Exemplars'] : []),
  ];
}
