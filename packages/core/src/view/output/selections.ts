import { type TObject, type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { InvalidUsageCollector } from '../../errors/invalid-usage-collector.ts';
import { nearest } from '../../errors/nearest.ts';
import { echo, invalidParameter, type ParameterDeclaration, type QueryParameters } from '../../http/parameters.ts';
import type { ReadField } from '../../shapes/read/read-field.ts';
import { type ReadShape, shapeOf } from '../../shapes/read/read-shape.ts';

type AnyShape = ReadShape<object, object>;

/** The description of the parameter `fields`. */
const ONLY =
  'The only fields to send, those of expand included. The response then lacks all others, even required ones';

/** The fields that a request selects. */
export interface Selection {
  /** The fields to add to the shape, in the order of the view's declaration. */
  readonly expand: readonly string[];
  /** The only fields to send, in the order of the shape; undefined: all. */
  readonly fields: readonly string[] | undefined;
  /** Equal selections have equal texts, in any order of names. */
  readonly text: string;
}

/**
 * The parameters `expand`, which adds declared fields to the read shape, and `fields`, which selects the fields to
 * send. Fields that are not sent are not queried.
 */
export class Selections {
  readonly #expandable: readonly ReadField[];
  readonly #takesFields: boolean;

  constructor(view: string, expandable: AnyShape | undefined, takesFields: boolean) {
    this.#expandable = expandable?.fields ?? [];
    this.#takesFields = takesFields;
    const split = this.#expandable.map(({ name }) => name).find((name) => name.includes(','));
    if (split !== undefined) {
      throw new ImproperlyConfigured(`${view}: option "expand" names "${split}", which has a comma`);
    }
  }

  /** True if clients can add fields. */
  get canExpand(): boolean {
    return this.#expandable.length > 0;
  }

  /** Declares the parameters of an operation whose records may have these shapes. */
  parametersFor(shapes: readonly AnyShape[]): readonly ParameterDeclaration[] {
    const added = this.#expandable.map(({ name }) => name);
    const shapeNames = shapes.flatMap(({ fields }) => fields.map(({ name }) => name));
    return [
      ...(added.length === 0 ? [] : [declaration('expand', added, 'Fields to add to each record')]),
      ...(this.#takesFields ? [declaration('fields', [...shapeNames, ...added], ONLY)] : []),
    ];
  }

  /**
   * Reads a request's selection of a shape; undefined if it selects nothing.
   *
   * @throws InvalidUsage for an unknown name, which lists the known names
   */
  read(parameters: QueryParameters, { fields: shapeFields }: AnyShape): Selection | undefined {
    const addable = this.#expandable.map(({ name }) => name);
    const problems = new InvalidUsageCollector();
    const expand =
      problems.attempt(() => (addable.length === 0 ? undefined : namesIn(parameters, 'expand', addable))) ?? [];
    const shown = [...new Set([...shapeFields.map(({ name }) => name), ...expand])];
    const fields = problems.attempt(() => (this.#takesFields ? namesIn(parameters, 'fields', shown) : undefined));
    problems.throwIfAny();
    if (expand.length === 0 && fields === undefined) return undefined;
    return {
      expand,
      fields,
      text: [textOf('expand', expand), textOf('fields', fields ?? [])].filter(Boolean).join('&'),
    };
  }

  /** Makes the shape of the selected fields. An added field replaces a field of the same name. */
  select(shape: AnyShape, { expand, fields }: Selection): AnyShape {
    const added = new Map(
      this.#expandable.filter(({ name }) => expand.includes(name)).map((field) => [field.name, field] as const),
    );
    const shapeFields = shape.fields.map((field) => added.get(field.name) ?? field);
    const all = [...new Set([...shapeFields, ...added.values()])];
    return shapeOf(shape.entity, fields === undefined ? all : all.filter(({ name }) => fields.includes(name)));
  }

  /**
   * The schema of the records of a request without `fields`, for documents. It includes the fields that `expand` adds.
   * A schema cannot express the effect of `fields`, so the description of that parameter does.
   */
  documented({ fields, schema }: AnyShape): TObject {
    const required = new Set<string>(schema.required);
    const properties: Record<string, TSchema> = {};
    for (const { name, schema: child } of fields) {
      properties[name] = required.has(name) ? child : Type.Optional(child);
    }
    for (const { name, schema: child } of this.#expandable) {
      const declared = fields.find((field) => field.name === name);
      properties[name] = declared === undefined ? Type.Optional(child) : Type.Union([declared.schema, child]);
    }
    return Type.Object(properties);
  }
}

function declaration(name: string, names: readonly string[], description: string): ParameterDeclaration {
  return { name, schema: Type.Array(Type.Enum([...new Set(names)]), { description }) };
}

/** Reads a list of names, in the order of the allowed names; undefined if the parameter is missing. */
function namesIn(parameters: QueryParameters, parameter: string, allowed: readonly string[]): string[] | undefined {
  const named = parameters.list(parameter, { hasCommas: false });
  const unknown = named?.find((name) => !allowed.includes(name));
  if (unknown === undefined) return named && allowed.filter((name) => named.includes(name));
  const meant = unknown === '' ? undefined : nearest(unknown, allowed);
  const hint = meant === undefined ? '' : ` (did you mean "${meant}"?)`;
  throw invalidParameter(parameter, `does not know the name "${echo(unknown)}"${hint}; allowed: ${allowed.join(', ')}`);
}

function textOf(parameter: string, names: readonly string[]): string {
  return names.length === 0 ? '' : `${parameter}=${names.map(encodeURIComponent).join(',')}`;
}
