import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Field, TextArea, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type FieldProps, useSetting } from './Form';

interface Props extends FieldProps {
  placeholder: string;
  rows?: number;
  required?: boolean;
  check: (text: string) => string | undefined;
}

/** A document, kept as its text; one that a provisioning file holds as such is shown as text. */
export function JsonSetting({ path, label, description, placeholder, rows = 5, required, check }: Props) {
  const styles = useStyles2(getStyles);
  const { value, disabled, set } = useSetting<unknown>(path);
  const text = value === undefined ? '' : textOf(value);
  const problem = text === '' || disabled ? undefined : check(text);

  return (
    <Field
      data-setting={path}
      label={label}
      description={description}
      htmlFor={path}
      required={required}
      invalid={problem !== undefined}
      error={problem}
      disabled={disabled}
      noMargin
    >
      <TextArea
        id={path}
        className={styles.code}
        rows={rows}
        spellCheck={false}
        value={text}
        placeholder={placeholder}
        onChange={({ currentTarget }) => set(currentTarget.value === '' ? undefined : currentTarget.value)}
      />
    </Field>
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

const getStyles = (theme: GrafanaTheme2) => ({
  code: css({ fontFamily: theme.typography.fontFamilyMonospace, fontSize: theme.typography.code.fontSize }),
});
