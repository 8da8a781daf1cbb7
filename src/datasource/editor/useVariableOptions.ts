import { getTemplateSrv } from '@grafana/runtime';
import { type ComboboxOption } from '@grafana/ui';
import { useMemo } from 'react';

/** Types of variables that hold a name of something; the others hold data sources, filters or the time. */
const VALUE_TYPES = ['query', 'custom', 'constant', 'textbox', 'interval'];

/** The dashboard's variables, as they are written in a query. */
export function useVariableOptions(): ComboboxOption[] {
  return useMemo(
    () =>
      getTemplateSrv()
        .getVariables()
        .filter(({ type }) => VALUE_TYPES.includes(type))
        .map(({ name, label }) => ({
          value: `$${name}`,
          label: `$${name}`,
          group: 'Variables',
          description: label ?? undefined,
        })),
    []
  );
}
