import type { JSX, TargetedFocusEvent, TargetedKeyboardEvent } from 'preact';
import { here, hrefOf, navigate } from './location.ts';
import type { ApiDocument, Schema } from './openapi.ts';
import type { Row } from './records.ts';
import { type Described, describe, propertiesOf } from './schema.ts';
import { useStore } from './store.ts';
import { texts } from './texts.ts';
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
): readonly Column[] {
  const declared = propertiesOf(document, row);
  const fields = declared.length > 0 ? declared : Object.keys(rows[0] ?? {}).map((name) => [name, {}] as const);
  const names = chosen?.split(',').filter((name) => fields.some(([each]) => each === name)) ?? [];
  const columns = fields.map(([name, schema]) => ({
    name,
    label: humanized(name),
    described: describe(document, schema, name),
  }));
  const plain = columns.filter(({ described }) => described.kind !== 'json').map(({ name }) => name);
  const atFirst = (plain.length > 0 ? plain : columns.map(({ name }) => name)).slice(0, SHOWN_AT_FIRST);
  const shown = new Set(names.length > 0 ? names : atFirst);
  return columns.map((column) => ({ ...column, isShown: shown.has(column.name) }));
}

/** Chooses the columns, which the URL then keeps. */
export function ColumnMenu({
  columns,
  path,
}: {
  readonly columns: readonly Column[];
  readonly path: string;
}): JSX.Element {
  const { query, fragment } = useStore(here);
  const choose = (names: readonly string[]): void => {
    const next = new URLSearchParams(fragment);
    if (names.length === 0) next.delete('columns');
    else next.set('columns', names.join(','));
    navigate(hrefOf(path, query, next), { replace: true });
  };
  const shown = columns.filter(({ isShown }) => isShown).map(({ name }) => name);
  return (
    <details class="menu" onKeyDown={closeOnEscape} onFocusOut={closeOnLeave}>
      <summary class="button">{texts.columns}</summary>
      <fieldset>
        <legend class="unseen">{texts.columns}</legend>
        {columns.map(({ name, label, isShown }) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={isShown}
              disabled={isShown && shown.length === 1}
              onChange={() =>
                choose(
                  columns.filter((each) => (each.name === name ? !isShown : each.isShown)).map((each) => each.name),
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
    </details>
  );
}

function closeOnEscape(event: TargetedKeyboardEvent<HTMLDetailsElement>): void {
  if (event.key !== 'Escape') return;
  event.currentTarget.open = false;
  event.currentTarget.querySelector('summary')?.focus();
}

function closeOnLeave(event: TargetedFocusEvent<HTMLDetailsElement>): void {
  const { relatedTarget, currentTarget } = event;
  if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
}
