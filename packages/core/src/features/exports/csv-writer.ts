import type { TObject, TSchema } from 'typebox';
import { isRecord } from '../../support/json.ts';
import { objectIn } from '../../shapes/schema-object.ts';
import type { CsvFormat } from './csv-format.ts';

/** A column of a CSV file: the path to a value of a record. */
type Column = readonly string[];

/**
 * Makes the function that writes records as CSV (RFC 4180): a line of names first, one column for each value. The
 * fields of an object are separate columns, `author.name`. A list is one cell of JSON. A text that a spreadsheet would
 * run as a formula gets an apostrophe in front (OWASP, CSV injection). The format chooses what separates cells, and if
 * the text starts with a byte order mark.
 *
 * @param json writes a record as JSON
 */
export function csvWriter(
  { bom, delimiter }: CsvFormat,
  schema: TObject,
  json: (record: object) => string,
): (records: readonly object[], isFirst: boolean) => string {
  const columns = columnsOf(schema);
  const names = columns.map((column) => column.join('.'));
  const line = (cells: readonly string[]): string => `${cells.map(quoted).join(delimiter) || NO_TEXT}\r\n`;
  return (records, isFirst) => {
    let text = isFirst ? (bom ? '\ufeff' : '') + line(names) : '';
    for (const record of records) {
      const sent: unknown = JSON.parse(json(record));
      text += line(columns.map((column) => cell(valueAt(sent, column))));
    }
    return text;
  };
}

/** The line of a single empty cell. Readers skip a line without any text, and would lose the record. */
const NO_TEXT = '""';

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
 * Characters that need quotes: a quote, and every separator of lines or cells. Separators that the format does not use
 * are quoted as well, because some readers guess the separator by counting characters outside of quotes.
 */
const QUOTED = /[",\r\n;\t|]/;

function quoted(text: string): string {
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Characters that start a formula in Excel, LibreOffice and Google Sheets. */
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
