import { TextLink } from '@grafana/ui';
import React from 'react';

import { findRunbook } from '../runbooks/runbooks';
import { runbookPath } from '../shared/paths';
import { type Row, textOf } from '../shared/rows';
import { type TableColumn } from '../shared/TableSection';
import { Device } from '../shared/Where';

const WHERE: TableColumn = { header: 'GPU', column: 'gpu', cell: (row) => <Device row={row} /> };

export const INVENTORY_COLUMNS: TableColumn[] = [
  WHERE,
  { header: 'Model', column: 'model' },
  { header: 'State', column: 'state' },
  { header: 'SM active', column: 'sm_active' },
  { header: 'Utilization', column: 'utilization' },
  { header: 'Memory used', column: 'memory_used' },
  { header: 'of', column: 'memory_total' },
  { header: 'Power', column: 'power' },
  { header: 'Temperature', column: 'temperature' },
  { header: 'Held back by', column: 'throttle' },
  { header: 'Used by', column: 'owner' },
  { header: 'Last XID', column: 'xid_text', cell: (row) => <Xid row={row} /> },
];

export const PROCESS_COLUMNS: TableColumn[] = [
  WHERE,
  { header: 'PID', column: 'pid' },
  { header: 'Name', column: 'name' },
  { header: 'User', column: 'user' },
  { header: 'Owner', column: 'owner' },
  { header: 'Kind', column: 'kind' },
  { header: 'Memory', column: 'memory' },
  { header: 'SM', column: 'sm' },
];

export const EVENT_COLUMNS: TableColumn[] = [
  { header: 'Time', column: 'time' },
  { header: 'What', column: 'title', cell: (row) => (textOf(row, 'xid') ? <Xid row={row} /> : textOf(row, 'title')) },
  WHERE,
  { header: 'Who acts', column: 'who_acts' },
  { header: 'Detail', column: 'detail' },
  { header: 'From', column: 'origin' },
];

/** An XID leads to what to do about it. */
function Xid({ row }: { row: Row }) {
  const book = findRunbook(textOf(row, 'xid'));
  const text = textOf(row, 'xid_text');
  return book ? <TextLink href={runbookPath(book.id)}>{text}</TextLink> : <>{text}</>;
}
