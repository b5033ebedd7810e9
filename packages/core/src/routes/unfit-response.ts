import { isRecord } from '../support/json.ts';
import { UnfitValue } from '../schema/unfit-value.ts';
import type { OperationPlan } from './operation-plan.ts';

/**
 * Names the record in the error of a response that does not fit its schema: its entity and its key, if the response
 * shows the key, and the property. Without a record, names the operation and the place in the response.
 * The message is like `Book.price does not fit its schema: it must be a number, got null (Book 7)`.
 */
export function named(error: UnfitValue, response: unknown, plan: OperationPlan | undefined): UnfitValue {
  const [first] = error.problems;
  if (first === undefined || plan === undefined) return error;
  const { entity, key } = plan.view;
  const record = key === undefined ? undefined : recordAt(response, first.path, key);
  if (entity === undefined || record === undefined) {
    return new UnfitValue(error.problems, `The response of ${plan.operationId}`);
  }
  const ofThisRecord = error.problems.filter(({ path }) => path.startsWith(record.path));
  const problems = ofThisRecord.map((problem) => ({ ...problem, path: problem.path.slice(record.path.length) }));
  return new UnfitValue(problems, { entity, key: String(record.key) });
}

/** Finds the outermost record on the way to a place in a response, by the field that identifies records. */
function recordAt(
  response: unknown,
  place: string,
  key: string,
): { readonly path: string; readonly key: unknown } | undefined {
  let [value, path] = [response, ''];
  for (const step of [...place.split('/').slice(1), undefined]) {
    const found = isRecord(value) ? value[key] : undefined;
    if (['string', 'number', 'bigint'].includes(typeof found) && place !== `${path}/${key}`) {
      return { path, key: found };
    }
    if (step === undefined || typeof value !== 'object' || value === null) return undefined;
    value = value[step.replaceAll('~1', '/').replaceAll('~0', '~') as never];
    path += `/${step}`;
  }
  return undefined;
}
