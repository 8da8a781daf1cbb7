import { useCallback, useMemo } from 'react';

import { useAnswer } from '../../shared/useAnswer';
import { type DataSource } from '../DataSource';
import { SCOPE_KEYS } from '../query';
import { type GpuQuery, type Scope } from '../types';
import { type Availability, availabilityOf } from './availability';

/** What is measured in the query's scope. Undefined while it is asked for and where it cannot be told: it is help, no more. */
export function useAvailability(datasource: DataSource, query: GpuQuery): Map<string, Availability> | undefined {
  // By value: the scope's arrays are new ones on every edit of the query.
  const scope = JSON.stringify(Object.fromEntries(SCOPE_KEYS.map((key) => [key, query[key]])) satisfies Partial<Scope>);
  const answer = useAnswer(useCallback(() => datasource.coverage(JSON.parse(scope)), [datasource, scope]));
  return useMemo(() => answer.value && availabilityOf(answer.value), [answer.value]);
}
