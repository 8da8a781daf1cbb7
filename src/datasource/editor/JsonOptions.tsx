import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { EditorField } from '@grafana/plugin-ui';
import { TextArea, useStyles2 } from '@grafana/ui';
import React, { useState } from 'react';

import { type InsightOptions } from '../types';
import { type InsightField } from './insightFields';
import { restAsText, restProblem, withRest } from './insightOptions';

interface Props {
  id: string;
  fields: InsightField[];
  options: InsightOptions | undefined;
  onChange: (options: InsightOptions | undefined) => void;
}

/** The options of a judgement that have no field of their own. What cannot be read is kept as a draft and not asked. */
export function JsonOptions({ id, fields, options, onChange }: Props) {
  const styles = useStyles2(getStyles);
  const [draft, setDraft] = useState<string>();
  const stored = restAsText(fields, options);
  const text = draft ?? stored;
  const problem = restProblem(text);

  const commit = () => {
    if (draft === undefined || problem) {
      return;
    }
    setDraft(undefined);
    if (draft !== stored) {
      onChange(withRest(fields, options, draft));
    }
  };

  return (
    <EditorField
      label="More options"
      tooltip="What has no field here, in JSON: limits above all. See the documentation of the query type."
      width={50}
      invalid={Boolean(problem)}
      error={problem}
    >
      <TextArea
        id={`${id}-options`}
        className={styles.code}
        rows={3}
        spellCheck={false}
        value={text}
        placeholder={'{"limits": {}}'}
        onChange={(event) => setDraft(event.currentTarget.value)}
        onBlur={commit}
      />
    </EditorField>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  code: css({ fontFamily: theme.typography.fontFamilyMonospace, fontSize: theme.typography.code.fontSize }),
});
