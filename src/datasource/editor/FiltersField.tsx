import { css } from '@emotion/css';
import { EditorRow } from '@grafana/plugin-ui';
import { Button, Combobox, MultiCombobox, Stack, useStyles2 } from '@grafana/ui';
import React, { useCallback, useState } from 'react';

import { type DataSource } from '../DataSource';
import { dimensionOf, DIMENSIONS } from '../filters/dimensions';
import { takesSeveral, valuesOf } from '../filters/filters';
import { queryTypeOf } from '../query';
import { useAnswer } from '../../shared/useAnswer';
import { type Filter, type FilterOperator, type GpuQuery } from '../types';
import { FILTER_OPERATORS } from './choices';

interface Props {
  id: string;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
}

const NEW: Filter = { key: '', operator: '=', value: '' };

/** The query's own conditions on labels, as dashboards have for all queries. */
export function FiltersField({ id, datasource, query, onChange }: Props) {
  const [draft, setDraft] = useState<Filter>();
  const filters = query.adhocFilters ?? [];
  const shown = draft ? [...filters, draft] : filters;

  const set = (at: number, filter: Filter) => {
    if (at >= filters.length && !isFinished(filter)) {
      setDraft(filter);
      return;
    }
    setDraft(undefined);
    onChange({ adhocFilters: shown.map((each, i) => (i === at ? filter : each)) });
  };
  const remove = (at: number) => {
    setDraft(undefined);
    if (at < filters.length) {
      onChange({ adhocFilters: filters.filter((_, i) => i !== at) });
    }
  };

  return (
    <EditorRow>
      <Stack direction="column" gap={1}>
        {shown.map((filter, i) => (
          <FilterRow
            key={i}
            id={`${id}-${i}`}
            number={i + 1}
            datasource={datasource}
            anyLabel={queryTypeOf(query) === 'promql'}
            filter={filter}
            onChange={(next) => set(i, next)}
            onRemove={() => remove(i)}
          />
        ))}
        <div>
          <Button
            variant="secondary"
            fill="text"
            icon="plus"
            size="sm"
            disabled={draft !== undefined}
            onClick={() => setDraft(NEW)}
          >
            Add a filter
          </Button>
        </div>
      </Stack>
    </EditorRow>
  );
}

function isFinished(filter: Filter): boolean {
  return filter.key !== '' && valuesOf(filter).some((value) => value !== '');
}

interface RowProps {
  id: string;
  number: number;
  datasource: DataSource;
  /** Whether labels may be written that are no dimension of GPUs. */
  anyLabel: boolean;
  filter: Filter;
  onChange: (filter: Filter) => void;
  onRemove: () => void;
}

function FilterRow({ id, number, datasource, anyLabel, filter, onChange, onRemove }: RowProps) {
  const { key } = filter;
  const listed = useAnswer(
    useCallback(
      () => (dimensionOf(key) ? datasource.getTagValues({ key, filters: [] }) : Promise.resolve([])),
      [datasource, key]
    )
  );
  const values = valuesOf(filter);
  const options = (listed.value ?? []).map(({ text, value }) => ({ value: String(value ?? text), label: text }));
  const several = takesSeveral(filter.operator);

  return (
    <Stack direction="row" gap={0.5} wrap="wrap" alignItems="center">
      <Hidden htmlFor={`${id}-key`}>{`Label of filter ${number}`}</Hidden>
      <Combobox
        id={`${id}-key`}
        width={22}
        options={DIMENSIONS.map((dimension) => ({
          value: dimension.key,
          label: dimension.key,
          description: dimension.label,
        }))}
        value={key || null}
        placeholder="Label"
        createCustomValue={anyLabel}
        onChange={(option) => onChange({ ...filter, key: option.value })}
      />
      <Hidden htmlFor={`${id}-operator`}>{`Operator of filter ${number}`}</Hidden>
      <Combobox
        id={`${id}-operator`}
        width={12}
        options={FILTER_OPERATORS}
        value={filter.operator}
        onChange={({ value }) => onChange(withOperator(filter, value))}
      />
      <Hidden htmlFor={`${id}-value`}>{`${several ? 'Values' : 'Value'} of filter ${number}`}</Hidden>
      {several ? (
        <MultiCombobox
          id={`${id}-value`}
          width={40}
          options={withAll(options, values)}
          value={values}
          placeholder="Values"
          createCustomValue
          onChange={(chosen) => onChange({ ...filter, values: chosen.map(({ value }) => value) })}
        />
      ) : (
        <Combobox
          id={`${id}-value`}
          width={40}
          options={withAll(options, values)}
          value={values[0] || null}
          placeholder="Value"
          createCustomValue
          onChange={({ value }) => onChange({ ...filter, value })}
        />
      )}
      <Button
        variant="secondary"
        fill="text"
        icon="trash-alt"
        aria-label={`Remove filter ${number}`}
        tooltip="Remove"
        onClick={onRemove}
      />
    </Stack>
  );
}

/** A label for readers of the page that do not see it: the row's fields explain themselves to the others. */
function Hidden({ htmlFor, children }: { htmlFor: string; children: string }) {
  const hidden = useStyles2(getHidden);
  return (
    <label className={hidden} htmlFor={htmlFor}>
      {children}
    </label>
  );
}

const getHidden = () =>
  css({ position: 'absolute', width: 1, height: 1, overflow: 'hidden', clipPath: 'inset(50%)', whiteSpace: 'nowrap' });

/** The filter with another operator; what was compared with stays. */
function withOperator({ key, ...filter }: Filter, operator: FilterOperator): Filter {
  const values = valuesOf({ key, ...filter }).filter((value) => value !== '');
  return takesSeveral(operator) ? { key, operator, values } : { key, operator, value: values[0] ?? '' };
}

function withAll(options: Array<{ value: string; label: string }>, values: string[]) {
  const known = new Set(options.map(({ value }) => value));
  const others = values.filter((value) => value !== '' && !known.has(value));
  return [...options, ...others.map((value) => ({ value, label: value }))];
}
