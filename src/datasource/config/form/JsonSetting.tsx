import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { TextArea, useStyles2 } from '@grafana/ui';
import React from 'react';

import { type FieldProps, useSetting } from './Form';
import { SettingField } from './SettingField';

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
  const problem = text === '' ? undefined : check(text);

  return (
    <SettingField {...{ path, label, description, required, disabled, problem }}>
      <TextArea
        id={path}
        className={styles.code}
        rows={rows}
        spellCheck={false}
        value={text}
        placeholder={placeholder}
        onChange={({ currentTarget }) => set(currentTarget.value === '' ? undefined : currentTarget.value)}
      />
    </SettingField>
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

const getStyles = (theme: GrafanaTheme2) => ({
  code: css({ fontFamily: theme.typography.fontFamilyMonospace, fontSize: theme.typography.code.fontSize }),
});
