import type { JSX } from 'preact';
import type { Api } from './api-model.ts';
import type { Schema } from './openapi.ts';
import { isForPeople, type Row, titleAmong } from './records.ts';
import { recordHref, referenceHref } from './reference-href.ts';
import { describe, propertiesOf } from './schema.ts';
import { texts } from '../src/texts.ts';
import { Value } from './value.tsx';
import { humanized } from './words.ts';

/** The most columns and rows that are shown. */
const MAX_COLUMNS = 8;
const MAX_ROWS = 100;

interface RowsProps {
  readonly api: Api;
  /** The schema of one of them, as far as there is one. */
  readonly schema: Schema | undefined;
  /** The schema by which one of them is written, which says what its fields refer to. */
  readonly written?: Schema | undefined;
  readonly rows: readonly Row[];
  readonly label: string;
  /** The path of the place where they are. */
  readonly path: string;
}

/** Records within an answer, to be read. */
export function RowsTable({ api, schema, written, rows, label, path }: RowsProps): JSX.Element {
  const schemas = new Map(propertiesOf(api.document, schema));
  const hrefOfRow = recordHref(api, schema, path);
  const shown = rows.slice(0, MAX_ROWS);
  const all = [...new Set(shown.flatMap((row) => Object.keys(row)))];
  const titled = titleAmong(all) ?? all[0];
  const names = all.filter((name) => isForPeople(name, titled)).slice(0, MAX_COLUMNS);
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
                {names.map((name) => {
                  const href = name === titled ? hrefOfRow?.(row) : undefined;
                  const value = (
                    <Value
                      value={row[name]}
                      described={describe(api.document, schemas.get(name), name)}
                      hrefOfValue={href === undefined ? referenceHref(api, written, name) : undefined}
                    />
                  );
                  return (
                    <td key={name} class={classOf(name)}>
                      {href === undefined ? value : <a href={href}>{value}</a>}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > MAX_ROWS && <p class="hint">{texts.range(1, MAX_ROWS, rows.length)}</p>}
    </>
  );
}
