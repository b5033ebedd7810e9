import {
  type DeclaredList,
  fieldPath,
  type FieldPath,
  type JsonValue,
  type Lookup,
  resolveLookup,
} from '@viewset/core';

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

/** A value in a column that holds JSON, by which a list is filtered or ordered. */
export interface ListedJsonValue {
  readonly option: 'filterFields' | 'jsonLogicFields' | 'orderingFields';
  readonly name: string;
  /** The column and the keys, with dots: `data.size.width`. */
  readonly key: string;
}

/** Lists the values in JSON in a list's declaration. */
export function listedJsonValues({ target }: DeclaredList): ListedJsonValue[] {
  const { filterFields, orderingFields, jsonLogicFields = [] } = target;
  const found = (option: ListedJsonValue['option'], name: string, declared: unknown): ListedJsonValue[] => {
    const value: unknown = Array.isArray(declared) ? declared[0] : declared;
    if (!isJsonValue(value)) return [];
    const key = [value.column, ...value.path].join('.');
    return [{ option, name: name === '' ? key : name, key }];
  };
  return [
    ...Object.entries(filterFields).flatMap(([name, lookup]) => found('filterFields', name, lookup)),
    ...Object.entries(orderingFields).flatMap(([name, field]) => found('orderingFields', name, field)),
    ...jsonLogicFields.flatMap((field) => found('jsonLogicFields', '', field)),
  ];
}

function isJsonValue(value: unknown): value is JsonValue<never, unknown> {
  return typeof value === 'object' && value !== null && 'column' in value && 'path' in value;
}

/** Lists the fields in a list's declaration. Leaves out values that are computed from related records, and values in JSON. */
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
    ...jsonLogicFields
      .filter((field) => typeof field === 'string')
      .map((name) => ({ option: 'jsonLogicFields', name, path: fieldPath(meta, name, '.') }) as const),
  ];
}
