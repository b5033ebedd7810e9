import { fieldPath, type FieldPath, resolveLookup } from '@viewset/core';
import { type CheckedApplication, operationsOf } from './checked-application.ts';
import type { Finding } from './finding.ts';

/**
 * Finds the fields that no answer may show (`hidden()`), and that a list can be narrowed or ordered by all the same: a client learns their
 * values by asking often enough.
 */
export function findGuessableFields(application: CheckedApplication): Finding[] {
  return operationsOf(application).flatMap(({ plan: { list } }): Finding[] => {
    if (list === undefined) return [];
    const { name: view, meta, searchFields, filterFields, orderingFields, jsonLogicFields = [] } = list.target;
    const path = (text: string): FieldPath => fieldPath(meta, text, '__');
    const filters = Object.entries(filterFields).flatMap(([name, lookup]) =>
      typeof lookup === 'string' ? [['filterFields', name, resolveLookup(meta, lookup).path] as const] : [],
    );
    const orders = Object.entries(orderingFields).flatMap(([name, field]) =>
      typeof field === 'string' ? [['orderingFields', name, path(field)] as const] : [],
    );
    const searched = searchFields.map((field) => ['searchFields', field, path(field.replace(/^[\^=]/, ''))] as const);
    const inLogic = jsonLogicFields.map((field) => ['jsonLogicFields', field, fieldPath(meta, field, '.')] as const);
    return [...filters, ...orders, ...searched, ...inLogic]
      .filter(([, , { property }]) => property.hidden === true)
      .map(([option, name, { key }]) => ({
        code: 'guessable-field',
        message: `${view}: "${name}" of ${option} lets clients guess ${meta.className}.${key}, which is hidden`,
        change: `remove "${name}" from ${option}`,
        declaredBy: { className: view, word: option },
      }));
  });
}
