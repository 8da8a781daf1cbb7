import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';

import { type Parents } from '../../datasource/types';
import { ourDataSources } from '../../shared/dataSources';
import { type RawRange } from './ask';

/** Lists of the scope that a page can be restricted by, with their names in addresses. */
export const SCOPE_PARAMETERS = {
  clusters: 'cluster',
  nodes: 'node',
  models: 'model',
  namespaces: 'namespace',
} as const;

export type ScopeKey = keyof typeof SCOPE_PARAMETERS;

export type PageScope = Pick<Parents, ScopeKey>;

export interface PageState {
  /** The data source's uid; undefined where there is none of ours. */
  uid?: string;
  range: RawRange;
  scope: PageScope;
  /** How often the page asks anew, such as `1m`; `off` for never. */
  refresh: string;
  /** Another parameter, '' when the address does not have it. */
  get: (name: string) => string;
  /** Changes parameters of the address; '' and an empty list take one out. */
  set: (change: Record<string, string | string[]>) => void;
}

const DEFAULTS = { from: 'now-6h', to: 'now', refresh: '1m' };

/** What a page shows, which is what its address says: it can be kept, shared and gone back to. */
export function usePageState(): PageState {
  const [search, setSearch] = useSearchParams();
  const set = useCallback(
    (change: Record<string, string | string[]>) =>
      setSearch(
        (now) => {
          const next = new URLSearchParams(now);
          for (const [name, value] of Object.entries(change)) {
            next.delete(name);
            for (const one of [value].flat().filter((text) => text !== '')) {
              next.append(name, one);
            }
          }
          return next;
        },
        { replace: true }
      ),
    [setSearch]
  );
  return useMemo(() => {
    const sources = ourDataSources();
    const wanted = search.get('ds');
    const chosen =
      sources.find(({ uid }) => uid === wanted) ?? sources.find(({ isDefault }) => isDefault) ?? sources[0];
    return {
      uid: chosen?.uid,
      range: { from: search.get('from') ?? DEFAULTS.from, to: search.get('to') ?? DEFAULTS.to },
      refresh: search.get('refresh') ?? DEFAULTS.refresh,
      scope: scopeOf(search),
      get: (name) => search.get(name) ?? '',
      set,
    };
  }, [search, set]);
}

function scopeOf(search: URLSearchParams): PageScope {
  const lists = Object.entries(SCOPE_PARAMETERS).map(([key, name]) => [key, search.getAll(name)] as const);
  return Object.fromEntries(lists.filter(([, values]) => values.length > 0));
}
