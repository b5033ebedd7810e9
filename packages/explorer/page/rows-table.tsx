import type { JSX } from 'preact';
import type { ApiDocument, Schema } from './openapi.ts';
import type { Row } from './records.ts';
import { describe, propertiesOf } from './schema.ts';
import { texts } from '../src/texts.ts';
import { Value } from './value.tsx';
import { humanized } from './words.ts';

/** The most columns and rows that are shown. */
const MAX_COLUMNS = 8;
const MAX_ROWS = 100;

interface RowsProps {
  readonly document: ApiDocument;
  /** The schema of one of them, as far as there is one. */
  readonly schema: Schema | undefined;
  readonly rows: readonly Row[];
  readonly label: string;
}

/** Records within an answer, to be read. */
export function RowsTable({ document, schema, rows, label }: RowsProps): JSX.Element {
  const schemas = new Map(propertiesOf(document, schema));
  const shown = rows.slice(0, MAX_ROWS);
  const names = [...new Set(shown.flatMap((row) => Object.keys(row)))].slice(0, MAX_COLUMNS);
  const classOf = (name: string): string | undefined =>
    shown.every((row) => typeof row[name] === 'number') ? 'number' : undefined;
  return (
    <>
      <div class="table-frame" tabIndex={0} role="region" aria-label={label}>
        <table>
          <thead>
            <tr>
              {names.map((name) => (
                <th scope="col" key={name} class={classOf(name)}>
                  <bdi>{humanized(name)}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, index) => (
              <tr key={index}>
                {names.map((name) => (
                  <td key={name} class={classOf(name)}>
                    <Value value={row[name]} described={describe(document, schemas.get(name), name)} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > MAX_ROWS && <p class="hint">{texts.range(1, MAX_ROWS, rows.length)}</p>}
    </>
  );
}
