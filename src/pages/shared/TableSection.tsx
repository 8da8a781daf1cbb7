import { css } from '@emotion/css';
import { type DataFrame, getDisplayProcessor, type GrafanaTheme2 } from '@grafana/data';
import { type CellProps, type Column, InteractiveTable, Stack, Text, useStyles2, useTheme2 } from '@grafana/ui';
import React, { type ReactNode, useEffect, useMemo, useRef } from 'react';

import { type GpuQuery } from '../../datasource/types';
import { type Answer } from '../../shared/useAnswer';
import { CsvButton, ExploreLink } from './Actions';
import { AnswerView } from './AnswerView';
import { type Asked } from './ask';
import { type PageView } from './Page';
import { frameNamed, type Row, rowsOf } from './rows';
import { Section } from './Section';
import { usePrinting } from './usePrinting';

/** A column of a table: of the frame, shown by the frame's unit, or made of the whole row. */
export interface TableColumn {
  header: string;
  column: string;
  cell?: (row: Row) => ReactNode;
  /** Holds sentences, which want more room than numbers leave them. */
  wide?: boolean;
}

interface Props extends Pick<PageView, 'uid' | 'state'> {
  title: string;
  /** Of the file that the list is exported to. */
  file: string;
  answer: Answer<Asked>;
  queries: GpuQuery[];
  /** The name of the frame. */
  frame: string;
  columns: TableColumn[];
  /** What no row means. */
  empty: string;
  loading: string;
  notices?: boolean;
  /** Which rows are shown; all when left out. */
  filter?: (row: Row) => boolean;
  /** What a row opens to: why it is as it is. */
  why?: (row: Row) => ReactNode;
  /** What else its head offers. */
  actions?: ReactNode;
}

const PAGE_SIZE = 25;

/** Rows that are printed; the export has all. */
const PRINTED = 1000;

const ALL = () => true;

/** A list out of an answer, with its export and its way to Explore. */
export function TableSection(props: Props) {
  const { title, file, answer, queries, frame: name, uid, state, empty, loading, notices, columns, filter } = props;
  const frame = frameNamed(answer.value?.frames, name);
  const rows = useMemo(() => rowsOf(frame).filter(filter ?? ALL), [frame, filter]);
  // What is nowhere known, such as costs without prices, the backend leaves out.
  const known = useMemo(() => columns.filter(({ column, cell }) => cell ?? fieldOf(frame, column)), [columns, frame]);
  return (
    <Section
      title={title}
      actions={
        <Stack gap={1}>
          {props.actions}
          <CsvButton name={file} frame={frame} rows={rows} />
          <ExploreLink uid={uid} queries={queries} range={state.range} />
        </Stack>
      }
    >
      <AnswerView answer={answer} loading={loading} notices={notices}>
        {() =>
          rows.length === 0 ? (
            <Text color="secondary">{empty}</Text>
          ) : (
            <FrameTable title={title} frame={frame} rows={rows} columns={known} why={props.why} />
          )
        }
      </AnswerView>
    </Section>
  );
}

interface TableProps extends Pick<Props, 'title' | 'columns' | 'why'> {
  frame: DataFrame | undefined;
  rows: Row[];
}

function FrameTable({ title, frame, rows, columns, why }: TableProps) {
  const theme = useTheme2();
  const styles = useStyles2(getStyles);
  const printing = usePrinting();
  const made = useMemo(
    () =>
      columns.map(({ header, column, cell, wide }): Column<Row> => {
        const text = textBy(frame, column, theme);
        return {
          id: column,
          header,
          sortType: (a, b) => compare(a.original[column], b.original[column]),
          cell: ({ row }: CellProps<Row>) => {
            const shown = cell ? cell(row.original) : text(row.original);
            return wide ? <div className={styles.wide}>{shown}</div> : shown;
          },
        };
      }),
    [columns, frame, theme, styles]
  );
  const meanings = useMemo(() => meaningsOf(frame, columns), [frame, columns]);
  const table = useRef<HTMLDivElement>(null);
  // Grafana's table does not name its pages, and of several tables nobody could tell whose they are.
  useEffect(() => {
    table.current?.querySelector('[role="navigation"]')?.setAttribute('aria-label', `Pages of ${title}`);
  });
  return (
    <div ref={table}>
      <InteractiveTable
        columns={made}
        headerTooltips={meanings}
        data={rows}
        pageSize={printing ? PRINTED : PAGE_SIZE}
        getRowId={(_: Row, i?: number) => `${i}`}
        renderExpandedRow={why}
      />
    </div>
  );
}

/** What the backend says that numbers are, by column. */
function meaningsOf(frame: DataFrame | undefined, columns: TableColumn[]): Record<string, { content: string }> {
  const described = columns.map(({ column }) => {
    const field = fieldOf(frame, column);
    return [column, { content: field?.config.description ?? '' }] as const;
  });
  return Object.fromEntries(described.filter(([, { content }]) => content !== ''));
}

function fieldOf(frame: DataFrame | undefined, column: string) {
  return frame?.fields.find(({ name }) => name === column);
}

/** How cells of a column read, by the unit of its field. What is absent stays empty: it is not zero. */
export function textBy(frame: DataFrame | undefined, column: string, theme: ReturnType<typeof useTheme2>) {
  const field = fieldOf(frame, column);
  const display = field && getDisplayProcessor({ field, theme });
  return (row: Row): string => {
    const value = row[column];
    if (value === null || value === undefined || value === '' || !display) {
      return '';
    }
    const { text, prefix = '', suffix = '' } = display(value);
    return `${prefix}${text}${suffix}`;
  };
}

/** Numbers by size and texts as people count; what is absent comes last. */
function compare(a: unknown, b: unknown): number {
  const [left, right] = [isAbsent(a), isAbsent(b)];
  if (left || right) {
    return Number(left) - Number(right);
  }
  return typeof a === 'number' && typeof b === 'number'
    ? a - b
    : String(a).localeCompare(String(b), undefined, { numeric: true });
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined || value === '';
}

const getStyles = (theme: GrafanaTheme2) => ({ wide: css({ minWidth: theme.spacing(30) }) });
