import { EditorField } from '@grafana/plugin-ui';
import { Input } from '@grafana/ui';
import React, { useState } from 'react';

interface Props {
  id: string;
  label: string;
  value: string;
  placeholder?: string;
  tooltip?: string;
  width?: number;
  /** What is wrong with a text; undefined when nothing is. */
  check?: (text: string) => string | undefined;
  onCommit: (value: string) => void;
}

/** A line of text that counts when it is left or Enter is pressed, so that no half-typed text is asked for. */
export function TextField({ id, label, value, placeholder, tooltip, width = 20, check, onCommit }: Props) {
  const [draft, setDraft] = useState<string>();
  const text = draft ?? value;
  const problem = check?.(text);

  const commit = () => {
    setDraft(undefined);
    if (draft !== undefined && draft !== value) {
      onCommit(draft);
    }
  };

  return (
    <EditorField label={label} tooltip={tooltip} width={width} invalid={Boolean(problem)} error={problem}>
      <Input
        id={id}
        width={width}
        value={text}
        placeholder={placeholder}
        onChange={(event) => setDraft(event.currentTarget.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            commit();
          }
        }}
      />
    </EditorField>
  );
}
