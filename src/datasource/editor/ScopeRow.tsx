import { css } from '@emotion/css';
import { EditorRow } from '@grafana/plugin-ui';
import { Button, useStyles2 } from '@grafana/ui';
import React, { useState } from 'react';

import { type DataSource } from '../DataSource';
import { type GpuQuery, type Scope } from '../types';
import { FiltersField } from './FiltersField';
import { parentsOf, SCOPE_FIELDS } from './scopeFields';
import { ValuesSelect } from './ValuesSelect';

interface Props {
  id: string;
  datasource: DataSource;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
  /** Fields that mean nothing here; they are shown while something is chosen in them. */
  without?: Array<keyof Scope>;
}

/** What the query is restricted to: from the cluster down to the MIG instance, and by what runs there. */
export function ScopeRow({ id, datasource, query, onChange, without = [] }: Props) {
  const styles = useStyles2(getStyles);
  const owners = SCOPE_FIELDS.filter(({ ofOwner }) => ofOwner);
  const used = owners.some(({ key }) => query[key]?.length) || Boolean(query.adhocFilters?.length);
  const [opened, setOpened] = useState(false);
  const more = opened || used;
  const fields = SCOPE_FIELDS.filter(
    ({ key, ofOwner }) => (more || !ofOwner) && (!without.includes(key) || query[key]?.length)
  );

  return (
    <>
      <EditorRow>
        {fields.map((field) => (
          <ValuesSelect
            key={field.key}
            id={`${id}-${field.key}`}
            label={field.label}
            placeholder={field.placeholder}
            kind={field.kind}
            datasource={datasource}
            parents={parentsOf(field, query)}
            values={query[field.key]}
            onChange={(values) => onChange({ [field.key]: values })}
          />
        ))}
        {!more && (
          <div className={styles.more}>
            <Button variant="secondary" fill="text" icon="plus" aria-expanded={false} onClick={() => setOpened(true)}>
              Workloads and filters
            </Button>
          </div>
        )}
      </EditorRow>
      {more && <FiltersField id={`${id}-filters`} datasource={datasource} query={query} onChange={onChange} />}
    </>
  );
}

const getStyles = () => ({ more: css({ alignSelf: 'flex-end' }) });
