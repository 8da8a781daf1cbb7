import React from 'react';

import { TextField } from './TextField';

interface Props {
  id: string;
  label: string;
  value: number | undefined;
  placeholder?: string;
  tooltip?: string;
  width?: number;
  least?: number;
  most?: number;
  whole?: boolean;
  /** Called with undefined when the field is emptied, and not at all with what is no number within the bounds. */
  onCommit: (value: number | undefined) => void;
}

/** A number within bounds; empty stands for the default. */
export function NumberField({ value, least, most, whole, onCommit, width = 14, ...field }: Props) {
  const problem = (text: string) => numberProblem(text, { least, most, whole });
  return (
    <TextField
      {...field}
      width={width}
      value={value === undefined ? '' : String(value)}
      check={problem}
      onCommit={(text) => {
        if (!problem(text)) {
          onCommit(text.trim() === '' ? undefined : Number(text));
        }
      }}
    />
  );
}

interface Bounds {
  least?: number;
  most?: number;
  whole?: boolean;
}

/** What is wrong with a number, if anything. */
export function numberProblem(text: string, { least = -Infinity, most = Infinity, whole }: Bounds): string | undefined {
  const trimmed = text.trim();
  const value = Number(trimmed);
  const right = Number.isFinite(value) && value >= least && value <= most && (!whole || Number.isInteger(value));
  return trimmed === '' || right ? undefined : `Write ${whole ? 'a whole number' : 'a number'}${between(least, most)}.`;
}

function between(least: number, most: number): string {
  if (most === Infinity) {
    return least === -Infinity ? '' : `, ${least} or more`;
  }
  return ` from ${least} to ${most}`;
}
