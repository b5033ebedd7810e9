import { type CheckedApplication, operationsOf } from './checked-application.ts';
import type { Finding } from './finding.ts';
import { listedFields } from './listed-fields.ts';

/**
 * Finds the fields that no answer may show (`hidden()`), and that a list can be narrowed or ordered by all the same: a client learns their
 * values by asking often enough.
 */
export function findGuessableFields(application: CheckedApplication): Finding[] {
  return operationsOf(application).flatMap(({ plan: { list } }): Finding[] => {
    if (list === undefined) return [];
    const { name: view, meta } = list.target;
    return listedFields(list)
      .filter(({ option, path }) => option !== 'ordering' && path.property.hidden === true)
      .map(({ option, name, path: { key } }) => ({
        code: 'guessable-field',
        message: `${view}: "${name}" of ${option} lets clients guess ${meta.className}.${key}, which is hidden`,
        change: `remove "${name}" from ${option}`,
        declaredBy: { className: view, word: option },
      }));
  });
}
