import { type Api, type Operation, recordPathOf, type Resource } from './api-model.ts';
import { isRow, type Row, textOf } from './records.ts';
import { describe, propertiesOf } from './schema.ts';

/** Finds the address of the record that a value names. */
export type HrefOfValue = (value: unknown) => string | undefined;

/**
 * Returns how values of a field lead to the records that they name; undefined if the field is no reference. Only schemas for writing say
 * what a field refers to.
 */
export function referenceHref(api: Api, { entity, update, create }: Resource, name: string): HrefOfValue | undefined {
  const writer = update ?? create ?? api.resources.find((each) => each.entity === entity && each.update)?.update;
  const body = writer?.body?.schema;
  const given = propertiesOf(api.document, body).find(([each]) => each === name)?.[1];
  if (entity === undefined || given === undefined) return undefined;
  const described = describe(api.document, given);
  const schema = described.kind === 'list' ? describe(api.document, described.schema.items).schema : described.schema;
  const reference = schema['x-reference'];
  const target = reference && recordsOf(api, reference.entity);
  if (target === undefined) return undefined;
  return (value) => {
    const key = isRow(value) ? value[target.key] : reference?.field === target.key ? value : undefined;
    return key === undefined || key === null ? undefined : recordPathOf(target, target.path, key);
  };
}

/** Finds the collection at a path of its own in which the records of an entity are. */
function recordsOf({ resources }: Api, entity: string): Resource | undefined {
  return resources.find(
    ({ entity: own, retrieve, isSingleton, path }) =>
      own === entity && retrieve !== undefined && !isSingleton && !path.includes('{'),
  );
}

/** A place where a record can be edited. */
export interface EditablePlace {
  readonly href: string;
  readonly update: Operation;
}

/** Finds the place where a record of a resource that cannot be edited can be: the same entity below its parents. */
export function editablePlace(api: Api, resource: Resource, row: Row): EditablePlace | undefined {
  for (const { entity, update, recordPath, retrieve, isSingleton } of api.resources) {
    if (entity === undefined || entity !== resource.entity || isSingleton) continue;
    if (update === undefined || retrieve === undefined) continue;
    const steps = recordPath.split('/');
    const filled = steps.map((step, index) => {
      if (!step.startsWith('{')) return step;
      const value = index === steps.length - 1 ? row[resource.key] : row[step.slice(1, -1)];
      const parent = api.resources.find(
        (each) => each.recordPath.split('/').length === index + 1 && isAbove(each, steps),
      );
      const key = textOf(isRow(value) ? value[parent?.key ?? 'id'] : value);
      return key === '' ? undefined : encodeURIComponent(key);
    });
    if (!filled.includes(undefined)) return { href: filled.join('/'), update };
  }
  return undefined;
}

/** Tells if a record stands on the way of a path, whatever the names of the parameters. */
function isAbove({ recordPath }: Resource, steps: readonly string[]): boolean {
  return recordPath
    .split('/')
    .every((step, index) => step === steps[index] || (step.startsWith('{') && steps[index]!.startsWith('{')));
}
