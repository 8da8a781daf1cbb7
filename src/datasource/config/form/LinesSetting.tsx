import { TextArea } from '@grafana/ui';
import React, { useState } from 'react';

import { type FieldProps, useSetting } from './Form';
import { SettingField } from './SettingField';

interface Props extends FieldProps {
  placeholder?: string;
  rows?: number;
  required?: boolean;
  /** What is wrong with one line. */
  check: (line: string) => string | undefined;
  /** What is there, where that is not what the setting alone says. */
  lines?: string[];
  /** Instead of writing them to the setting. */
  onLines?: (lines: string[] | undefined) => void;
}

/** A list, one entry a line; commas part entries, too, so that lists can be pasted. */
export function LinesSetting({ path, label, description, placeholder, rows = 3, required, check, ...rest }: Props) {
  const { value, disabled, set } = useSetting<string[]>(path);
  const { lines = value ?? [], onLines = set } = rest;
  const [draft, setDraft] = useState<string>();
  const problem = lines.map(check).find((found) => found !== undefined);

  return (
    <SettingField {...{ path, label, description, required, disabled, problem }}>
      <TextArea
        id={path}
        rows={rows}
        cols={50}
        spellCheck={false}
        value={draft ?? lines.join('\n')}
        placeholder={placeholder}
        onChange={({ currentTarget }) => {
          const list = entriesOf(currentTarget.value);
          setDraft(currentTarget.value);
          onLines(list.length > 0 ? list : undefined);
        }}
        onBlur={() => setDraft(undefined)}
      />
    </SettingField>
  );
}

function entriesOf(text: string): string[] {
  const entries = text.split(/[\n,]/).map((entry) => entry.trim());
  return [...new Set(entries.filter((entry) => entry !== ''))];
}
