import { EditorField, EditorSwitch } from '@grafana/plugin-ui';
import { Combobox } from '@grafana/ui';
import React from 'react';

import { queryTypeOf } from '../query';
import { type GpuQuery } from '../types';
import { SOURCES } from './choices';

interface Props {
  id: string;
  query: GpuQuery;
  onChange: (change: Partial<GpuQuery>) => void;
  isRule: boolean;
  /** Whether the answer can go on by a stream. */
  streams?: boolean;
}

/** Where values are from, and whether they go on. */
export function SourceFields({ id, query, onChange, isRule, streams = true }: Props) {
  return (
    <>
      {queryTypeOf(query) !== 'processes' && (
        <EditorField label="Source" width={16}>
          <Combobox
            id={`${id}-source`}
            width={16}
            options={SOURCES}
            value={query.source ?? 'auto'}
            onChange={({ value }) => onChange({ source: value })}
          />
        </EditorField>
      )}
      {streams && !isRule && (
        <EditorField label="Stream" tooltip="A panel whose range ends at now goes on by the agents’ samples">
          <EditorSwitch
            id={`${id}-live`}
            value={query.live ?? true}
            onChange={(event) => onChange({ live: event.currentTarget.checked })}
          />
        </EditorField>
      )}
    </>
  );
}
