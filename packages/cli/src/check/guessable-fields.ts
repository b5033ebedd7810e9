import { type CheckedApplication, operationsOf } from './checked-application.ts';
import type { Finding } from './finding.ts';
import { listedFields } from './listed-fields.ts';

/**
 * Finds hidden fields (`hidden()`) that a list can still be filtered or ordered by. With enough requests, a client can
 * guess their values.
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
