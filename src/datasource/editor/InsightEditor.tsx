import { EditorField, EditorRow, EditorSwitch } from '@grafana/plugin-ui';
import { Combobox, MultiCombobox } from '@grafana/ui';
import React, { useCallback } from 'react';

import { useAnswer } from '../../shared/useAnswer';
import { type DataSource } from '../DataSource';
import { type GpuQuery, type InsightQueryType, type Metric } from '../types';
import { INSIGHT_FIELDS, type InsightField, type ProfileField } from './insightFields';
import { isShown, withOption } from './insightOptions';
import { JsonOptions } from './JsonOptions';
import { MaxRowsField } from './MaxRowsField';
import { MetricPicker } from './MetricPicker';
import { NumberField } from './NumberField';
import { OptionGroup } from './OptionGroup';
import { MinStepField } from './OptionsRow';
import { ScopeRow } from './ScopeRow';
import { SourceFields } from './SourceFields';
import { useAvailability } from './useAvailability';

interface Props {
  id: string;
  type: InsightQueryType;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
  isRule: boolean;
}

/** The fields of a judgement: the few options that matter, and a text for the rest. */
export function InsightEditor({ id, type, datasource, query, onChange, isRule }: Props) {
  const { options } = query;
  const fields = INSIGHT_FIELDS[type];
  const shown = fields.filter((field) => isShown(field, options, isRule));

  return (
    <>
      {shown.length > 0 && (
        <EditorRow>
          {shown.map((field) => (
            <OptionField
              key={field.key}
              id={`${id}-option-${field.key}`}
              field={field}
              datasource={datasource}
              query={query}
              onChange={(value) => onChange({ options: withOption(options, field.key, value) })}
            />
          ))}
        </EditorRow>
      )}
      <ScopeRow id={id} datasource={datasource} query={query} onChange={onChange} />
      <OptionGroup title="Options" summary={summaryOf(query)}>
        <SourceFields id={id} query={query} onChange={onChange} isRule={isRule} streams={false} />
        <MaxRowsField id={id} query={query} onChange={onChange} />
        <MinStepField id={id} query={query} onChange={onChange} />
        <JsonOptions id={id} fields={fields} options={options} onChange={(next) => onChange({ options: next })} />
      </OptionGroup>
    </>
  );
}

function summaryOf({ source, maxRows, minStep, options }: GpuQuery): string[] {
  return [
    `Source: ${source ?? 'auto'}`,
    ...(maxRows ? [`Most rows: ${maxRows}`] : []),
    `Step: ${minStep || 'automatic'}`,
    ...(options?.limits ? ['Limits of its own'] : []),
  ];
}

interface FieldProps {
  id: string;
  field: InsightField;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (value: unknown) => void;
}

function OptionField({ id, field, datasource, query, onChange }: FieldProps) {
  const value = query.options?.[field.key];
  switch (field.kind) {
    case 'choice':
      return (
        <EditorField label={field.label} tooltip={field.tooltip} width={22}>
          <Combobox
            id={id}
            width={22}
            options={field.choices}
            value={typeof value === 'string' ? value : field.choices[0].value}
            onChange={(option) => onChange(option.value)}
          />
        </EditorField>
      );
    case 'list':
      return (
        <EditorField label={field.label} tooltip={field.tooltip}>
          <MultiCombobox
            id={id}
            options={field.choices}
            value={Array.isArray(value) ? value.map(String) : []}
            placeholder={field.placeholder}
            isClearable
            width="auto"
            minWidth={22}
            maxWidth={60}
            onChange={(chosen) => onChange(chosen.map((option) => option.value))}
          />
        </EditorField>
      );
    case 'number':
      return (
        <NumberField
          id={id}
          label={field.label}
          tooltip={field.tooltip}
          placeholder={field.placeholder}
          value={typeof value === 'number' ? value : undefined}
          least={field.least}
          most={field.most}
          whole={field.whole}
          onCommit={onChange}
        />
      );
    case 'flag':
      return (
        <EditorField label={field.label} tooltip={field.tooltip}>
          <EditorSwitch id={id} value={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
        </EditorField>
      );
    case 'profile':
      return (
        <ProfileOption
          id={id}
          field={field}
          datasource={datasource}
          value={typeof value === 'string' ? value : ''}
          onChange={onChange}
        />
      );
    case 'metric':
      return <MetricOption id={id} label={field.label} datasource={datasource} query={query} onChange={onChange} />;
  }
}

interface ProfileProps {
  id: string;
  field: ProfileField;
  datasource: DataSource;
  value: string;
  onChange: (value: string) => void;
}

/** Profiles that there are, and any that is typed: one may be looked for that nobody has yet. */
function ProfileOption({ id, field, datasource, value, onChange }: ProfileProps) {
  const listed = useAnswer(useCallback(() => datasource.listValues('profile', {}), [datasource]));
  return (
    <EditorField label={field.label} tooltip={field.tooltip} width={22}>
      <Combobox
        id={id}
        width={22}
        isClearable
        createCustomValue
        placeholder={field.placeholder}
        options={(listed.value?.values ?? []).map((one) => ({ value: one.value, label: one.text }))}
        value={value === '' ? null : value}
        onChange={(option) => onChange(option?.value ?? '')}
      />
    </EditorField>
  );
}

function MetricOption({ id, label, datasource, query, onChange }: Omit<FieldProps, 'field'> & { label: string }) {
  const catalogue = useAnswer(useCallback(() => ofDevices(datasource), [datasource]));
  const available = useAvailability(datasource, query);
  const value = query.options?.metric;
  return (
    <MetricPicker
      id={id}
      label={label}
      catalogue={catalogue}
      available={available}
      value={typeof value === 'string' ? value : ''}
      onChange={onChange}
    />
  );
}

/** Judgements look at devices. */
async function ofDevices(datasource: DataSource): Promise<Metric[]> {
  return (await datasource.metrics()).filter(({ subject, kind }) => subject !== 'workload' && kind !== 'histogram');
}
