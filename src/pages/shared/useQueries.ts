import { useCallback } from 'react';

import { type GpuQuery } from '../../datasource/types';
import { type Answer, useAnswer } from '../../shared/useAnswer';
import { ask, type Asked, type RawRange } from './ask';

/** Asks queries of a data source over a time range, and again whenever one of these or `tick` changes. */
export function useQueries(uid: string, queries: GpuQuery[], { from, to }: RawRange, tick: number): Answer<Asked> {
  // By value: pages make their queries anew on every render.
  const question = JSON.stringify(queries);
  return useAnswer(
    useCallback(() => {
      void tick;
      return ask(uid, JSON.parse(question), { from, to });
    }, [uid, question, from, to, tick])
  );
}
