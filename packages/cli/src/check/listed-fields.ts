import { type DeclaredList, fieldPath, type FieldPath, type Lookup, resolveLookup } from '@viewset/core';

/** A field that the records of a list are narrowed or ordered by. */
export interface ListedField {
  /** The option of the view that names it. */
  readonly option: 'filterFields' | 'jsonLogicFields' | 'ordering' | 'orderingFields' | 'searchFields';
  /** The name of it in the option. */
  readonly name: string;
  readonly path: FieldPath;
  /** The comparison, if the option names one. */
  readonly lookup?: Lookup;
}

/** Lists the fields that a list is declared with. Values that related records tell are computed for each record, and left out. */
export function listedFields({ target, ordering }: DeclaredList): ListedField[] {
  const { meta, filterFields, orderingFields, searchFields, search, jsonLogicFields = [] } = target;
  const path = (text: string): FieldPath => fieldPath(meta, text, '__');
  const filters = Object.entries(filterFields).flatMap(([name, lookup]): ListedField[] =>
    typeof lookup === 'string' ? [{ option: 'filterFields', name, ...resolveLookup(meta, lookup) }] : [],
  );
  const orders = Object.entries(orderingFields).flatMap(([name, field]): ListedField[] =>
    typeof field === 'string' ? [{ option: 'orderingFields', name, path: path(field) }] : [],
  );
  return [
    ...filters,
    ...orders,
    ...ordering.map((name) => ({ option: 'ordering', name, path: path(name.replace(/^-/, '')) }) as const),
    ...(search?.fields ?? searchFields).map(
      (name) => ({ option: 'searchFields', name, path: path(name.replace(/^[\^=]/, '')) }) as const,
    ),
    ...jsonLogicFields.map((name) => ({ option: 'jsonLogicFields', name, path: fieldPath(meta, name, '.') }) as const),
  ];
}
