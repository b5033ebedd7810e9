import { type DeclaredList, fieldPath, type FieldPath, type Lookup, resolveLookup } from '@viewset/core';

/** A field that a list is filtered or ordered by. */
export interface ListedField {
  /** The view's option that names it. */
  readonly option: 'filterFields' | 'jsonLogicFields' | 'ordering' | 'orderingFields' | 'searchFields';
  /** Its name in that option. */
  readonly name: string;
  readonly path: FieldPath;
  /** The comparison, if the option has one. */
  readonly lookup?: Lookup;
}

/** Lists the fields in a list's declaration. Leaves out values that are computed from related records. */
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
