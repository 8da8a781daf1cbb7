import { type CellProps, type Column, EmptyState, InteractiveTable, TextLink } from '@grafana/ui';
import React, { useCallback, useMemo } from 'react';

import { type RawRange } from '../shared/ask';
import { runbookPath } from '../shared/paths';
import { type Row, textOf } from '../shared/rows';
import { SEVERITIES, SeverityBadge, severityInfo } from '../shared/severity';
import { agoText } from '../shared/times';
import { Where } from '../shared/Where';
import { Why } from './Why';

interface Props {
  uid: string;
  rows: Row[];
  /** How many there are without the filter of severities. */
  total: number;
  range: RawRange;
  /** The severity that was chosen, '' when nobody chose. */
  chosen: string;
  /** Not everything was seen, so that no row is no good news. */
  partial?: boolean;
}

/** Rows a page: a fleet may have many thousands of GPUs. */
const PAGE_SIZE = 50;

/** GPUs, MIG instances and nodes in the order of the backend, which is the worst first; each opens to say why. */
export function HealthList({ uid, rows, total, range, chosen, partial = false }: Props) {
  const columns = useMemo<Array<Column<Row>>>(
    () => [
      { id: 'severity', header: 'Severity', cell: SeverityCell, sortType: bySeverity },
      { id: 'node', header: 'Where', cell: ({ row }) => <Where row={row.original} />, sortType: 'alphanumeric' },
      { id: 'reason', header: 'Reason', cell: ReasonCell },
      { id: 'who_acts', header: 'Who acts', sortType: 'string' },
      { id: 'owner', header: 'Used by', sortType: 'string' },
      { id: 'since', header: 'Since', cell: ({ row }) => agoText(row.original), sortType: 'number' },
      { id: 'runbook', header: 'What to do', cell: RunbookCell },
    ],
    []
  );
  const why = useCallback((row: Row) => <Why uid={uid} row={row} range={range} />, [uid, range]);
  if (rows.length === 0) {
    return <NoRow chosen={chosen} total={total} partial={partial} />;
  }
  return (
    <InteractiveTable columns={columns} data={rows} pageSize={PAGE_SIZE} getRowId={idOf} renderExpandedRow={why} />
  );
}

function NoRow({ chosen, total, partial }: { chosen: string; total: number; partial: boolean }) {
  if (chosen !== '') {
    return (
      <EmptyState variant="not-found" message={`None of ${total} is ${severityInfo(chosen).label.toLowerCase()}`} />
    );
  }
  if (partial) {
    return (
      <EmptyState
        variant="not-found"
        message={`None of the ${total} that were judged needs you, but not all is known`}
      />
    );
  }
  return <EmptyState variant="completed" message={`None of ${total} GPUs, MIG instances and nodes needs you`} />;
}

function SeverityCell({ row }: CellProps<Row>) {
  return <SeverityBadge severity={textOf(row.original, 'severity')} />;
}

function ReasonCell({ row }: CellProps<Row>) {
  const silenced = textOf(row.original, 'silenced');
  const reason = textOf(row.original, 'reason') || verdictText(textOf(row.original, 'verdict'));
  return silenced ? `${reason} (silenced: ${silenced})` : reason;
}

/** A verdict that only repeats the severity says nothing more. */
function verdictText(verdict: string): string {
  return (SEVERITIES as readonly string[]).includes(verdict) ? '' : verdict;
}

function RunbookCell({ row }: CellProps<Row>) {
  const runbook = textOf(row.original, 'runbook');
  return runbook ? <TextLink href={runbookPath(runbook)}>Runbook</TextLink> : null;
}

function bySeverity(a: { original: Row }, b: { original: Row }): number {
  return rank(b.original) - rank(a.original);
}

function rank(row: Row): number {
  return (SEVERITIES as readonly string[]).indexOf(textOf(row, 'severity'));
}

function idOf(row: Row): string {
  return ['cluster', 'node', 'gpu_uuid', 'gpu', 'mig_id'].map((column) => textOf(row, column)).join('/');
}
