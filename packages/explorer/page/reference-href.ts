import { type Api, fillPath, type Operation, recordPathOf, type Resource } from './api-model.ts';
import type { Schema } from './openapi.ts';
import { templatePattern } from './path-template.ts';
import { isRow, type Row, textOf } from './records.ts';
import { describe, propertiesOf } from './schema.ts';

/** Finds the address of the record that a value names. */
export type HrefOfValue = (value: unknown) => string | undefined;

/** The fields that are written of a resource's records, here or at another place: only schemas for writing say what a field refers to. */
export function writtenSchema({ document, resources }: Api, { entity, update, create }: Resource): Schema {
  const elsewhere = resources.find((each) => entity !== undefined && each.entity === entity && each.update);
  const operations = update === undefined && create === undefined ? [elsewhere?.update] : [create, update];
  const fields = operations.flatMap((operation) => propertiesOf(document, operation?.body?.schema));
  return { type: 'object', properties: Object.fromEntries(fields) };
}

/** Returns how values of a field of a written schema lead to the records that they name; undefined if the field is no reference. */
export function referenceHref(api: Api, written: Schema | undefined, name: string): HrefOfValue | undefined {
  const described = describe(api.document, fieldOf(api, written, name));
  const schema = described.kind === 'list' ? describe(api.document, described.schema.items).schema : described.schema;
  const reference = schema['x-reference'];
  const target = reference && recordsOf(api, reference.entity);
  if (target === undefined) return undefined;
  return (value) => {
    const key = isRow(value) ? value[target.key] : reference?.field === target.key ? value : undefined;
    return key === undefined || key === null ? undefined : recordPathOf(target, target.path, key);
  };
}

/** The schema of a field. */
export function fieldOf({ document }: Api, schema: Schema | undefined, name: string): Schema | undefined {
  return propertiesOf(document, schema).find(([each]) => each === name)?.[1];
}

/** As many fields in common are no accident. */
const ENOUGH_FIELDS = 3;

/**
 * Returns how records within an answer lead to their pages: those of the one collection, here or elsewhere, whose records have all of their
 * fields. Undefined if there is none, or if several could be meant.
 */
export function recordHref(api: Api, schema: Schema | undefined, path: string): HrefOfValue | undefined {
  const wanted = fieldTexts(api, schema);
  const isOf = (each: Schema | undefined): boolean => {
    const known = fieldTexts(api, each);
    const isPart = wanted.size > 0 && [...wanted].every((field) => known.has(field));
    return isPart && (known.size === wanted.size || wanted.size >= ENOUGH_FIELDS);
  };
  const fitting = api.resources.filter(
    ({ retrieve, row, recordPath }) =>
      retrieve !== undefined && (isOf(row) || isOf(retrieve.answer)) && isReachable(recordPath, path),
  );
  const near = fitting.filter(
    (each) => `${fillPath(each.path, path)}/`.startsWith(path) || path.startsWith(fillPath(each.path, path)),
  );
  const [target, ...others] = near.length > 0 ? near : fitting;
  if (target === undefined || others.some(({ entity }) => entity !== target.entity)) return undefined;
  return (value) => (isRow(value) ? recordPathOf(target, path, value[target.key]) : undefined);
}

/** The fields of a schema, each as a text by which it can be compared. */
function fieldTexts({ document }: Api, schema: Schema | undefined): ReadonlySet<string> {
  return new Set(propertiesOf(document, schema).map((field) => JSON.stringify(field)));
}

/** Tells if a path says which records stand above those of a template. */
function isReachable(recordPath: string, path: string): boolean {
  const above = recordPath.replace(/\/[^/]+$/, '').replace(/[^{}]+$/, '');
  const steps = path.split('/').slice(0, above.split('/').length);
  return above === '' || templatePattern(above).test(steps.join('/'));
}

/** Finds the collection at a path of its own in which the records of an entity are. */
function recordsOf({ resources }: Api, entity: string): Resource | undefined {
  return resources.find(
    ({ entity: itsEntity, retrieve, isSingleton, path }) =>
      itsEntity === entity && retrieve !== undefined && !isSingleton && !path.includes('{'),
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
