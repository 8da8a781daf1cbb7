import { Button, Combobox, Field, Input } from '@grafana/ui';
import React, { useState } from 'react';

import { Row } from '../form/Folded';
import { JUDGEMENTS, namesOf, standardOf, stepsOf, type Subject, subjectsOf, unitOf } from './table';

interface Props {
  disabled: boolean;
  onAdd: (judgement: string, steps: string[], value: number | string) => void;
}

const SUBJECTS: Record<Subject, string> = { all: 'All GPUs', class: 'A class of work', model: 'A model' };

/** The fields that make a new threshold; it starts as the default. */
export function NewThreshold({ disabled, onAdd }: Props) {
  const [judgement, setJudgement] = useState('health');
  const [subject, setSubject] = useState<Subject>('all');
  const [of, setOf] = useState('');
  const [name, setName] = useState<string>();
  const isMissing = subject !== 'all' && of.trim() === '';

  return (
    <Row>
      <Field label="Judgement" htmlFor="threshold-judgement" disabled={disabled} noMargin>
        <Combobox
          id="threshold-judgement"
          width={20}
          options={JUDGEMENTS.map((value) => ({ value }))}
          value={judgement}
          disabled={disabled}
          onChange={({ value }) => {
            setJudgement(value);
            setSubject('all');
            setName(undefined);
          }}
        />
      </Field>
      <Field label="Holds for" htmlFor="threshold-subject" disabled={disabled} noMargin>
        <Combobox
          id="threshold-subject"
          width={20}
          options={subjectsOf(judgement).map((value) => ({ value, label: SUBJECTS[value] }))}
          value={subject}
          disabled={disabled}
          onChange={({ value }) => {
            setSubject(value);
            setOf('');
            setName(undefined);
          }}
        />
      </Field>
      {subject === 'class' && (
        <Field label="Class" htmlFor="threshold-of" disabled={disabled} noMargin>
          <Combobox
            id="threshold-of"
            width={20}
            options={[{ value: 'training' }, { value: 'inference' }]}
            value={of || null}
            disabled={disabled}
            onChange={({ value }) => setOf(value)}
          />
        </Field>
      )}
      {subject === 'model' && (
        <Field label="Model" htmlFor="threshold-of" disabled={disabled} noMargin>
          <Input
            id="threshold-of"
            width={20}
            placeholder="H100 PCIe"
            value={of}
            onChange={({ currentTarget }) => setOf(currentTarget.value)}
          />
        </Field>
      )}
      <Field label="Limit" htmlFor="threshold-name" disabled={disabled} noMargin>
        <Combobox
          id="threshold-name"
          width={34}
          options={namesOf(judgement, subject).map((value) => ({ value, description: meaningOf(judgement, value) }))}
          value={name ?? null}
          placeholder="Choose a limit"
          disabled={disabled}
          onChange={({ value }) => setName(value)}
        />
      </Field>
      <Button
        variant="secondary"
        icon="plus"
        disabled={disabled || !name || isMissing}
        onClick={() => {
          if (name) {
            onAdd(judgement, stepsOf(judgement, subject, of.trim(), name), standardOf(judgement, name) ?? 0);
            setName(undefined);
          }
        }}
      >
        Add threshold
      </Button>
    </Row>
  );
}

function meaningOf(judgement: string, name: string): string | undefined {
  const standard = standardOf(judgement, name);
  return standard === undefined ? undefined : `Default ${standard}${unitOf(name) ? ` ${unitOf(name)}` : ''}`;
}
