import type { JSX } from 'preact';
import type { ApiDocument, Schema } from './openapi.ts';
import type { HrefOfValue } from './reference-href.ts';
import { isRow, type Row } from './records.ts';
import { RowsTable } from './rows-table.tsx';
import { describe, propertiesOf } from './schema.ts';
import { StoredFile, storedFileOf } from './stored-file.tsx';
import { texts } from '../src/texts.ts';
import { Value } from './value.tsx';
import { humanized } from './words.ts';

/** The longest text that is shown, in characters. */
const SHOWN = 20_000;

/** The values that the server sends of a record, to be read. */
export function Facts({
  document,
  schema,
  row,
  names,
  hrefsOf = () => undefined,
  isAside,
}: {
  readonly document: ApiDocument;
  /** How the values of a field lead to other records. */
  readonly hrefsOf?: (name: string) => HrefOfValue | undefined;
  readonly schema: Schema;
  readonly row: Row;
  readonly names: readonly string[];
  /** True if they stand beside a form. */
  readonly isAside: boolean;
}): JSX.Element {
  const schemas = new Map(propertiesOf(document, schema));
  return (
    <section class="facts" aria-label={isAside ? texts.facts : undefined}>
      {isAside && <h2>{texts.facts}</h2>}
      <dl>
        {names.map((name) => (
          <div key={name}>
            <dt>
              <bdi>{humanized(name)}</bdi>
            </dt>
            <dd>
              <Fact
                name={name}
                value={row[name]}
                document={document}
                schema={schemas.get(name)}
                hrefOfValue={hrefsOf(name)}
              />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Fact({
  name,
  value,
  document,
  schema,
  hrefOfValue,
}: {
  readonly name: string;
  readonly value: unknown;
  readonly document: ApiDocument;
  readonly schema: Schema | undefined;
  readonly hrefOfValue: HrefOfValue | undefined;
}): JSX.Element {
  const described = describe(document, schema, name);
  const file = storedFileOf(value, described);
  if (file !== undefined) return <StoredFile file={file} isFull />;
  if (hrefOfValue !== undefined) return <Value value={value} hrefOfValue={hrefOfValue} length={SHOWN} />;
  if (Array.isArray(value) && value.length > 0 && value.every(isRow)) {
    return <RowsTable document={document} schema={described.schema.items} rows={value} label={humanized(name)} />;
  }
  const { kind, schema: inner } = described;
  if (isRow(value) && kind === 'object') return <Pairs document={document} schema={inner} row={value} />;
  if (isRow(value)) return <pre tabIndex={0}>{JSON.stringify(value, undefined, 2).slice(0, SHOWN)}</pre>;
  return <Value value={value} described={described} length={SHOWN} />;
}

/** The fields of an object in one line. */
function Pairs({
  document,
  schema,
  row,
}: {
  readonly document: ApiDocument;
  readonly schema: Schema;
  readonly row: Row;
}): JSX.Element {
  const schemas = new Map(propertiesOf(document, schema));
  return (
    <>
      {Object.entries(row).map(([name, value]) => (
        <span class="pair" key={name}>
          <span class="pair-name">{humanized(name)}</span>
          <Value value={value} described={describe(document, schemas.get(name), name)} length={200} />
        </span>
      ))}
    </>
  );
}
