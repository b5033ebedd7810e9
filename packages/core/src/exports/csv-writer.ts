import type { TObject, TSchema } from 'typebox';
import { isRecord } from '../json.ts';
import { objectIn } from '../shapes/schema-object.ts';

/** A column of a CSV file: the way to a value of a record. */
type Column = readonly string[];

/**
 * Makes the writer of records as CSV (RFC 4180): a line of names first, a column for each value. The fields of an object are
 * columns of their own, `author.name`; a list is one cell of JSON. A text that a spreadsheet would run as a formula is preceded by
 * an apostrophe (OWASP, CSV injection).
 *
 * @param json writes a record as JSON has it
 */
export function csvWriter(
  schema: TObject,
  json: (record: object) => string,
): (records: readonly object[], isFirst: boolean) => string {
  const columns = columnsOf(schema);
  const names = columns.map((column) => column.join('.'));
  return (records, isFirst) => {
    let text = isFirst ? line(names) : '';
    for (const record of records) {
      const sent: unknown = JSON.parse(json(record));
      text += line(columns.map((column) => cell(valueAt(sent, column))));
    }
    return text;
  };
}

function line(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`;
}

function columnsOf({ properties }: Pick<TObject, 'properties'>, way: Column = []): Column[] {
  return Object.entries<TSchema>(properties).flatMap(([name, child]) => {
    const inner = objectIn(child);
    return inner === undefined ? [[...way, name]] : columnsOf(inner, [...way, name]);
  });
}

function valueAt(record: unknown, column: Column): unknown {
  let value = record;
  for (const name of column) value = isRecord(value) ? value[name] : undefined;
  return value;
}

/**
 * Needs quotes: a quote, and what separates lines or cells, also those of a spreadsheet of another language: unquoted, `a;=1+1`
 * would be a text and a formula there.
 */
const QUOTED = /[",\r\n;\t]/;

function quoted(text: string): string {
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Begins what Excel, LibreOffice and Google Sheets take for a formula. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'object') return defuseFormula(JSON.stringify(value));
  return typeof value === 'string' ? defuseFormula(value) : JSON.stringify(value);
}

function defuseFormula(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}
