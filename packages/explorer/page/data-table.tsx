import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api, Resource } from './api-model.ts';
import type { Column } from './columns.tsx';
import { fitsCell } from './editable-cell.tsx';
import { directionOf, namesOf, rankOf, sorted } from './list-query.ts';
import type { Schema } from './openapi.ts';
import { isOffered } from './permissions.ts';
import { type HrefOfValue, referenceHref, writtenSchema } from './reference-href.ts';
import { type Row, textOf, titleOf } from './records.ts';
import { session } from './session.ts';
import { changeableFields, changeOf } from './several-records.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import type { Selection } from './use-selection.ts';
import { alignmentOf, moveAmongCells, TableCell } from './table-cell.tsx';
import { decimalsOf } from './value.tsx';
import { shortened } from './words.ts';

interface DataTableProps {
  readonly api: Api;
  readonly resource: Resource;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly query: URLSearchParams;
  readonly hasSort: boolean;
  /** True while newer rows are on their way. */
  readonly isStale: boolean;
  readonly hrefOfRow: (row: Row) => string | undefined;
  /** The keys of the rows that have just changed by themselves. */
  readonly news: ReadonlySet<string>;
  readonly selection: Selection;
  /** The path of the collection. */
  readonly path: string;
  /** Is called when a value was changed in its cell. */
  readonly onWritten: () => void;
  readonly onQuery: (query: URLSearchParams) => void;
}

/** The time for which a row looks new, in milliseconds. */
const NEWS_MS = 2000;

/** The records of a page as a table. */
export function DataTable(props: DataTableProps): JSX.Element {
  const { api, resource, columns, rows, isStale, selection } = props;
  const { keys: selected, select } = selection;
  const keys = rows.map((row) => textOf(row[resource.key]));
  const isAll = keys.every((key) => selected.has(key));
  // The numbers of a column stand one below the other, point below point.
  const decimals = new Map(
    columns.map(({ name }) => [name, Math.max(...rows.map((row) => decimalsOf(row[name])))] as const),
  );
  const isEditable = isOffered(changeOf(resource), useStore(session), props.path);
  const editable = new Map(
    (isEditable ? changeableFields(api, resource) : []).filter(([name, schema]) => fitsCell(api, name, schema)),
  );
  const current = useCurrentCell(keys, columns, editable);
  const written = writtenSchema(api, resource);
  const hrefsOfValues = new Map(columns.map(({ name }) => [name, referenceHref(api, written, name)] as const));
  const toggle = (key: string): void => {
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    select(next);
  };
  return (
    <div class={`table-frame${isStale ? ' stale' : ''}`} tabIndex={0} role="region" aria-label={resource.name}>
      <table>
        <thead>
          <tr>
            <th scope="col" class="check">
              <input
                type="checkbox"
                aria-label={texts.selectAll}
                checked={isAll}
                onChange={() => select(isAll ? new Set() : new Set(keys))}
              />
            </th>
            {columns.map((column) => (
              <HeadCell key={column.name} column={column} {...props} />
            ))}
          </tr>
        </thead>
        <tbody onKeyDown={moveAmongCells}>
          {rows.map((row, index) => (
            <TableRow
              key={keys[index]}
              {...props}
              isNew={props.news.has(keys[index]!)}
              row={row}
              isSelected={selected.has(keys[index]!)}
              fault={selection.outcome?.faults.get(keys[index]!)}
              decimals={decimals}
              editable={editable}
              currentColumn={current.key === keys[index] ? current.column : undefined}
              onCurrent={(name) => current.set([keys[index]!, name])}
              hrefsOfValues={hrefsOfValues}
              onToggle={() => toggle(keys[index]!)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The one cell that Tab leads to, and arrows from it to the others: that where the keyboard was last, or else the first. */
function useCurrentCell(keys: readonly string[], columns: readonly Column[], editable: ReadonlyMap<string, Schema>) {
  const [[key = '', column = ''], set] = useState<readonly string[]>([]);
  const names = columns.map(({ name }) => name).filter((name) => editable.has(name));
  return {
    key: keys.includes(key) ? key : keys[0],
    column: names.includes(column) ? column : names[0],
    set,
  };
}

interface TableRowProps extends DataTableProps {
  /** True if the row has just changed by itself. */
  readonly isNew: boolean;
  readonly row: Row;
  readonly isSelected: boolean;
  readonly fault: string | undefined;
  /** The places after the point, by the name of the column. */
  readonly decimals: ReadonlyMap<string, number>;
  /** The schemas of the fields that can be edited in their cells. */
  readonly editable: ReadonlyMap<string, Schema>;
  /** How the values of columns lead to the records that they name. */
  readonly hrefsOfValues: ReadonlyMap<string, HrefOfValue | undefined>;
  /** The column of the row's cell that Tab leads to; undefined if it is in another row. */
  readonly currentColumn: string | undefined;
  readonly onCurrent: (column: string) => void;
  readonly onToggle: () => void;
}

function TableRow(props: TableRowProps): JSX.Element {
  const { resource, columns, row, isSelected, isNew, news, fault, decimals, hrefOfRow, hrefsOfValues, onToggle } =
    props;
  const title = shortened(titleOf(resource, row), 60);
  const linked = linkColumn(resource, columns);
  const line = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isNew) line.current!.animate({ background: ['var(--accent-shade)', 'transparent'] }, NEWS_MS);
  }, [isNew, news]);
  return (
    <>
      <tr ref={line} class={isSelected ? 'selected' : undefined}>
        <td class="check">
          <input type="checkbox" aria-label={texts.select(title)} checked={isSelected} onChange={onToggle} />
        </td>
        {columns.map((column) => (
          <TableCell
            key={column.name}
            {...props}
            column={column}
            schema={props.editable.get(column.name)}
            isCurrent={column.name === props.currentColumn}
            onCurrent={() => props.onCurrent(column.name)}
            title={title}
            decimals={decimals.get(column.name)}
            href={column === linked ? hrefOfRow(row) : undefined}
            hrefOfValue={column === linked ? undefined : hrefsOfValues.get(column.name)}
          />
        ))}
      </tr>
      {fault !== undefined && (
        <tr class="row-fault">
          <td />
          <td colSpan={columns.length} class="fault">
            <bdi>{fault}</bdi>
          </td>
        </tr>
      )}
    </>
  );
}

/** The column whose values lead to the records: the one that people know them by, or else the key. */
function linkColumn({ key }: Resource, columns: readonly Column[]): Column | undefined {
  const named = ['title', 'name', 'label', 'subject'].map((name) => columns.find((column) => column.name === name));
  return (
    named.find((column) => column !== undefined) ??
    columns.find(({ name }) => name === key) ??
    columns.find(({ described }) => described.kind !== 'object' && described.kind !== 'stored file')
  );
}

function HeadCell({ column, query, hasSort, onQuery, resource }: DataTableProps & { readonly column: Column }) {
  const { name, label, described } = column;
  const isSortable = hasSort && namesOf(resource.list!, 'sort').has(name);
  const direction = directionOf(query, name);
  return (
    <th
      scope="col"
      class={alignmentOf(column)}
      aria-sort={isSortable ? direction : undefined}
      title={described.schema.description}
    >
      {isSortable ? (
        <button
          type="button"
          class="sort"
          title={texts.sortBy(label)}
          onClick={(event) => onQuery(sorted(resource.list!, query, name, event.shiftKey))}
        >
          <bdi>{label}</bdi>
          <span class={`arrow ${direction}`} aria-hidden="true">
            {direction === 'none' ? '↕' : direction === 'ascending' ? '↑' : '↓'}
            {rankOf(query, name)}
          </span>
        </button>
      ) : (
        <bdi>{label}</bdi>
      )}
    </th>
  );
}
