import type { JSX } from 'preact';
import type { Operation } from './api-model.ts';
import { ExpandSwitches } from './expand-switches.tsx';
import { namesOf } from './list-query.ts';
import { here, hrefOf, navigate } from './location.ts';
import { Menu } from './menu.tsx';
import type { ApiDocument, Schema } from './openapi.ts';
import { isForPeople, type Row, titleAmong } from './records.ts';
import { type Described, describe, propertiesOf } from './schema.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { humanized } from './words.ts';

/** A column of a table. */
export interface Column {
  readonly name: string;
  readonly label: string;
  readonly described: Described;
  readonly isShown: boolean;
}

/** As many columns are shown at first. */
const SHOWN_AT_FIRST = 8;

/** The columns that a list can have: the fields of its schema, or those of the first record where there is no schema. */
export function columnsOf(
  document: ApiDocument,
  row: Schema,
  rows: readonly Row[],
  chosen: string | null,
  relations: ReadonlyMap<string, boolean>,
): readonly Column[] {
  const declared = propertiesOf(document, row).filter(([name]) => relations.get(name) !== false);
  const fields = declared.length > 0 ? declared : Object.keys(rows[0] ?? {}).map((name) => [name, {}] as const);
  const names = chosen?.split(',').filter((name) => fields.some(([each]) => each === name)) ?? [];
  const columns = fields.map(([name, schema]) => ({
    name,
    label: humanized(name),
    described: describe(document, schema, name),
  }));
  const isColumn = ({ name }: (typeof columns)[number]): boolean => !relations.has(name);
  // Without a title, the key is what people know a record by.
  const title = titleAmong(columns.map(({ name }) => name));
  const plain = columns.filter(
    (column) => isColumn(column) && column.described.kind !== 'json' && isForPeople(column.name, title),
  );
  const atFirst = (plain.length > 0 ? plain : columns.filter(isColumn)).slice(0, SHOWN_AT_FIRST);
  const shown = new Set(names.length > 0 ? names : atFirst.map(({ name }) => name));
  return columns.map((column) => ({ ...column, isShown: shown.has(column.name) || relations.has(column.name) }));
}

/** Chooses the columns, which the URL then keeps. */
export function ColumnMenu({
  columns,
  list,
  path,
}: {
  readonly columns: readonly Column[];
  readonly list: Operation;
  readonly path: string;
}): JSX.Element {
  const { query, fragment } = useStore(here);
  const choose = (names: readonly string[]): void => {
    const next = new URLSearchParams(fragment);
    if (names.length === 0) next.delete('columns');
    else next.set('columns', names.join(','));
    navigate(hrefOf(path, query, next), { replace: true });
  };
  const relations = namesOf(list, 'expand');
  const columnsOfRecord = columns.filter(({ name }) => !relations.has(name));
  const shown = columnsOfRecord.filter(({ isShown }) => isShown).map(({ name }) => name);
  return (
    <Menu label={texts.columns}>
      <fieldset>
        <legend class="unseen">{texts.columns}</legend>
        {columnsOfRecord.map(({ name, label, isShown }) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={isShown}
              disabled={isShown && shown.length === 1}
              onChange={() =>
                choose(
                  columnsOfRecord
                    .filter((each) => (each.name === name ? !isShown : each.isShown))
                    .map((each) => each.name),
                )
              }
            />
            <bdi>{label}</bdi>
          </label>
        ))}
        {fragment.has('columns') && (
          <button type="button" class="plain small" onClick={() => choose([])}>
            {texts.defaultColumns}
          </button>
        )}
      </fieldset>
      <ExpandSwitches operation={list} />
    </Menu>
  );
}
