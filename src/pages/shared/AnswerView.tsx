import { Alert, LoadingPlaceholder } from '@grafana/ui';
import React, { type ReactNode } from 'react';

import { type Answer } from '../../shared/useAnswer';
import { type Asked } from './ask';
import { Notices } from './Notices';

interface Props {
  answer: Answer<Asked>;
  /** What is being asked, for who waits: "Judging GPUs…". */
  loading: string;
  /** Notices are shown here; false where another part of the page shows those of the same answer. */
  notices?: boolean;
  children: (asked: Asked) => ReactNode;
}

/** What was answered, or that it is being asked, or why it was not; an earlier answer stays until the next one is there. */
export function AnswerView({ answer: { value, error }, loading, notices = true, children }: Props) {
  if (error) {
    return (
      <Alert severity="error" title="The data source does not answer">
        {error}
      </Alert>
    );
  }
  if (!value) {
    return <LoadingPlaceholder text={loading} />;
  }
  return (
    <>
      {notices && <Notices notices={value.notices} />}
      {children(value)}
    </>
  );
}
