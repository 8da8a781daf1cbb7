import { EditorField } from '@grafana/plugin-ui';
import { type ComboboxOption, MultiCombobox } from '@grafana/ui';
import React, { useCallback, useMemo } from 'react';

import { type DataSource } from '../DataSource';
import { type GpuVariableQuery, type Parents, type VariableKind } from '../types';
import { useAnswer } from '../../shared/useAnswer';
import { useVariableOptions } from './useVariableOptions';

interface Props {
  id: string;
  label: string;
  placeholder: string;
  kind: VariableKind;
  datasource: DataSource;
  /** Values of the levels above, variables in them included. */
  parents: Parents;
  values: string[] | undefined;
  onChange: (values: string[]) => void;
  tooltip?: string;
}

const VALUES_TOOLTIP = 'Nothing chosen means all. Type /expression/ for a regular expression.';

/** Chooses values of one level of the fleet: from what the backend lists, the dashboard's variables, or typed. */
export function ValuesSelect({
  id,
  label,
  placeholder,
  kind,
  datasource,
  parents,
  values = [],
  onChange,
  tooltip,
}: Props) {
  // The list is asked for by value: a parent's array is a new one on every edit of the query.
  const question = JSON.stringify({ refId: id, kind, ...parents } satisfies GpuVariableQuery);
  const answer = useAnswer(
    useCallback(() => datasource.variableValues(JSON.parse(question), {}), [datasource, question])
  );
  const variables = useVariableOptions();
  const options = useMemo(
    () => withChosen([...variables, ...(answer.value?.values ?? []).map(toOption)], values),
    [variables, answer.value, values]
  );

  return (
    <EditorField
      label={label}
      tooltip={tooltip ?? VALUES_TOOLTIP}
      error={answer.error && `${label} cannot be listed: ${answer.error}`}
      invalid={Boolean(answer.error)}
    >
      <MultiCombobox
        id={id}
        options={options}
        value={values}
        // Not the list's own spinner: Grafana's icons keep it when an answer comes before the spinner's picture does.
        placeholder={answer.loading ? 'Loading…' : placeholder}
        createCustomValue
        isClearable
        width="auto"
        minWidth={18}
        maxWidth={60}
        onChange={(chosen) => onChange(chosen.map(({ value }) => value))}
      />
    </EditorField>
  );
}

function toOption({ value, text }: { value: string; text: string }): ComboboxOption {
  return { value, label: text, description: text === value ? undefined : value };
}

/** Chosen values that the list lacks, so that they can be seen and removed: variables of another dashboard, devices gone. */
function withChosen(options: ComboboxOption[], values: string[]): ComboboxOption[] {
  const listed = new Set(options.map(({ value }) => value));
  return [...options, ...values.filter((value) => !listed.has(value)).map((value) => ({ value, label: value }))];
}
