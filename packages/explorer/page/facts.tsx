import type { JSX } from 'preact';
import type { Api } from './api-model.ts';
import { copyText } from './copy-text.ts';
import type { Schema } from './openapi.ts';
import { fieldOf, recordHref, referenceHref } from './reference-href.ts';
import { here } from './location.ts';
import { isForPeople, isRow, type Row, textOf, titleAmong } from './records.ts';
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
  api,
  schema,
  written,
  row,
  names,
  isAside,
}: {
  readonly api: Api;
  readonly schema: Schema;
  /** The schema by which such a record is written, which says what its fields refer to. */
  readonly written?: Schema | undefined;
  readonly row: Row;
  readonly names: readonly string[];
  /** True if they stand beside a form. */
  readonly isAside: boolean;
}): JSX.Element {
  const schemas = new Map(propertiesOf(api.document, schema));
  const title = titleAmong(Object.keys(row));
  const forPeople = names.filter((name) => isForPeople(name, title));
  return (
    <section class="facts" aria-label={isAside ? texts.facts : undefined}>
      {isAside && <h2>{texts.facts}</h2>}
      <dl>
        {forPeople.map((name) => (
          <div key={name}>
            <dt>
              <bdi>{humanized(name)}</bdi>
            </dt>
            <dd>
              <Fact api={api} name={name} value={row[name]} schema={schemas.get(name)} written={written} />
            </dd>
          </div>
        ))}
      </dl>
      <p class="for-programs">
        {names
          .filter((name) => !forPeople.includes(name))
          .map((name) => (
            <button type="button" class="plain small" key={name} onClick={() => void copyText(textOf(row[name]))}>
              {humanized(name)} <code>{textOf(row[name])}</code> <span class="unseen">{texts.copy}</span>
            </button>
          ))}
      </p>
    </section>
  );
}

function Fact({
  api,
  name,
  value,
  schema,
  written,
}: {
  readonly api: Api;
  readonly name: string;
  readonly value: unknown;
  readonly schema: Schema | undefined;
  readonly written: Schema | undefined;
}): JSX.Element {
  const { document } = api;
  const hrefOfValue = referenceHref(api, written, name);
  const described = describe(document, schema, name);
  const file = storedFileOf(value, described);
  if (file !== undefined) return <StoredFile file={file} isFull />;
  if (hrefOfValue !== undefined) return <Value value={value} hrefOfValue={hrefOfValue} length={SHOWN} />;
  if (Array.isArray(value) && value.length > 0 && value.every(isRow)) {
    const writtenItem = describe(document, fieldOf(api, written, name)).schema.items;
    return (
      <RowsTable
        api={api}
        schema={described.schema.items}
        written={writtenItem}
        rows={value}
        label={humanized(name)}
        path={here.get().pathname}
      />
    );
  }
  const { kind, schema: inner } = described;
  if (isRow(value) && kind === 'object') return <Pairs api={api} schema={inner} row={value} />;
  if (isRow(value)) return <pre tabIndex={0}>{JSON.stringify(value, undefined, 2).slice(0, SHOWN)}</pre>;
  return <Value value={value} described={described} length={SHOWN} />;
}

/** The fields of an object in one line; its title leads to the record that it is. */
function Pairs({ api, schema, row }: { readonly api: Api; readonly schema: Schema; readonly row: Row }): JSX.Element {
  const schemas = new Map(propertiesOf(api.document, schema));
  const title = titleAmong(Object.keys(row));
  const href = recordHref(api, schema, here.get().pathname)?.(row);
  return (
    <>
      {Object.entries(row)
        .filter(([name]) => isForPeople(name, title))
        .map(([name, value]) => {
          const text = <Value value={value} described={describe(api.document, schemas.get(name), name)} length={200} />;
          return (
            <span class="pair" key={name}>
              {name !== title && <span class="pair-name">{humanized(name)}</span>}
              {name === title && href !== undefined ? <a href={href}>{text}</a> : text}
            </span>
          );
        })}
    </>
  );
}
