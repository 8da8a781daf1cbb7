import { type Row } from './rows';

/** A spreadsheet takes what begins so for a formula, and runs it. */
const FORMULA = /^[=+\-@\t\r]/;

/** Rows as a table of comma-separated values with a line of names. Times are numbers of milliseconds made ISO 8601. */
export function toCsv(columns: string[], rows: Row[], times: string[] = []): string {
  const lines = rows.map((row) =>
    columns.map((column) => cell(times.includes(column) ? isoTime(row[column]) : row[column])).join(',')
  );
  return [columns.map(cell).join(','), ...lines].join('\r\n') + '\r\n';
}

function cell(value: unknown): string {
  if (value === null || value === undefined) {
    return '';
  }
  if (typeof value === 'number') {
    return String(value);
  }
  const text = FORMULA.test(String(value)) ? `'${String(value)}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function isoTime(value: unknown): unknown {
  return typeof value === 'number' ? new Date(value).toISOString() : value;
}

/** Hands a text to the browser as a file to keep. */
export function download(name: string, text: string, type = 'text/csv;charset=utf-8') {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
