import type { FastifyRequest } from 'fastify';
import { type TObject, type TSchema, Type } from 'typebox';
import { ImproperlyConfigured, InvalidUsage, NotFound } from '../../errors/errors.ts';
import { FIELD_KINDS } from '../../fields/field-kinds.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { isRecord, pointerStep, textProblem } from '../../support/json.ts';
import { checkOptions, type OptionRule, POSITIVE } from '../../errors/options.ts';
import type { QueryParameters } from '../../http/parameters.ts';
import { counted, invalidInput } from '../../schema/error-details.ts';
import { MAX_PROBLEMS, placedAt, type Problem } from '../../schema/scan-input.ts';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import { columnRule, readKey } from '../../shapes/write/column-rule.ts';
import { keyText } from '../../fields/primary-key.ts';
import { unionOf, withProperties } from '../../shapes/schema-object.ts';
import { type ShapeField, shapeField } from '../../shapes/shape-field.ts';
import { writeSchema } from '../../shapes/wire-format.ts';
import { type InputOperation, type WriteOperation, WRITES } from '../../view/request/operation.ts';
import { type ReadBody, type ReadInput, validBody } from '../../view/request/read-input.ts';
import type { FeatureView } from '../../view/setup/feature.ts';
import type { ViewInput } from '../../view/write/view-input.ts';

/** The maximum number of records that one request can create, update or destroy. */
export type BulkOption = number | Readonly<Partial<Record<WriteOperation, number>>>;

export const BULK_RULE: OptionRule = [
  'a whole number above 0, or an object such as { create: 100 }',
  (value) => isRecord(value) || POSITIVE[1](value),
];

const TWICE = 'names a record twice';
/** The maximum number of records that a message names. */
const NAMED_IN_MESSAGE = 10;

/** The requests of a view on several records. */
export class Bulk {
  readonly #limits: Readonly<Partial<Record<WriteOperation, number>>>;
  readonly #input: ViewInput | undefined;
  readonly #key: FieldPath;
  /** The name of the key in a body. */
  readonly #keyName: string;
  readonly #field: ShapeField;

  constructor({ name, meta, input, key, overrides, ...view }: FeatureView, option: BulkOption) {
    const owner = `${name}.bulk`;
    if (isRecord(option)) checkOptions(owner, option, { create: POSITIVE, update: POSITIVE, destroy: POSITIVE });
    const offered = WRITES.filter((operation) => isOffered(operation, view));
    this.#limits = isRecord(option) ? option : Object.fromEntries(offered.map((each) => [each, option]));
    this.#input = input;
    this.#key = key.column;
    this.#keyName = nameOfKey(owner, key.column.property.name, this.#limits.update === undefined ? undefined : input);
    this.#field = shapeField(meta, key.column.key);
    const declared = Object.keys(this.#limits) as WriteOperation[];
    if (declared.length === 0) throw new ImproperlyConfigured(`${owner}: the view has no operation that writes`);
    const wrong = declared.find((operation) => !offered.includes(operation));
    if (wrong !== undefined) throw new ImproperlyConfigured(`${owner}: "${wrong}" is no operation of the view`);
    for (const operation of declared) {
      const passed = overrides.bypassedBySeveral(operation);
      if (passed === undefined) continue;
      throw new ImproperlyConfigured(
        `${owner}: the view overrides ${passed}, which nothing asks for several records; override ${operation}Many too`,
      );
    }
    if (view.options['requireIfMatch'] === true && declared.some((operation) => operation !== 'create')) {
      throw new ImproperlyConfigured(
        `${owner}: a request about several records has no If-Match, which the view requires`,
      );
    }
  }

  limit(operation: WriteOperation): number | undefined {
    return this.#limits[operation];
  }

  /** The schema of the body of a bulk operation, for documents. */
  documented(operation: InputOperation): TSchema {
    const schemas = this.#input!.documented(modeOf(operation));
    const items = operation === 'create' ? schemas : schemas.map((schema) => this.#withKey(schema));
    return Type.Array(unionOf(items), { maxItems: this.#limits[operation]! });
  }

  /**
   * Reads the objects of a body as bodies of single records, and the keys of the records to change. If rules and
   * references may find more faults, each object is returned with its faults, and the array with the faults of keys.
   *
   * @throws InvalidUsage with a detail for every offending field, if no further faults are possible
   */
  read(request: FastifyRequest, body: unknown, operation: InputOperation): ReadInput {
    const limit = this.#limits[operation]!;
    if (!Array.isArray(body)) throw invalidInput('body', [{ path: '', message: 'must be an array' }]);
    if (body.length > limit) {
      throw invalidInput('body', [{ path: '', message: `must have at most ${counted(limit, 'item')}` }]);
    }
    const faults: Problem[] = [];
    const named = new Set<string>();
    const bodies = (body as unknown[]).map((item, index) => {
      const path = `/${index}`;
      if (operation === 'create' || !isRecord(item)) return this.#readItem(request, item, operation, path, faults);
      const { [this.#keyName]: json, ...changes } = item;
      const key = this.#keyOf(json, path, faults, named);
      const read = this.#readItem(request, changes, operation, path, faults);
      Object.assign(read.data, { [this.#key.property.name]: key });
      return read;
    });
    const values = bodies.map(({ data }) => data);
    this.#input!.checkRelated(request, values, modeOf(operation), faults);
    if (faults.length > 0 && !this.#input!.findsMore(request, modeOf(operation))) throw invalidInput('body', faults);
    return { value: values, bodies, faults };
  }

  /**
   * Reads the keys of a query string, `1,2,3`.
   *
   * @param parse parses one key; undefined if it is malformed
   * @throws NotFound for a malformed key
   */
  keysOf(parameters: QueryParameters, parse: (text: string) => unknown): unknown[] {
    const limit = this.#limits.destroy!;
    const hasCommas = FIELD_KINDS[this.#key.type.kind].hasCommas(this.#key.type);
    const texts = parameters.list('pk', { hasCommas, repeats: true, isOfKeys: true }) ?? [];
    if (texts.length === 0) throw refuse('is required');
    if (texts.length > limit) throw refuse(`must name at most ${counted(limit, 'record')}`);
    if (texts.includes('')) throw refuse('has a comma without a key');
    const keys = texts.map(parse);
    const wrong = texts.filter((_, index) => keys[index] === undefined);
    if (wrong.length > 0) throw absent('query', wrong, () => '/pk');
    if (new Set(keys.map(keyText)).size < keys.length) throw refuse(TWICE);
    return keys;
  }

  /** Makes the error for keys of a request that no record has. */
  absent(keys: readonly unknown[], missing: ReadonlySet<unknown>, place: 'body' | 'query'): NotFound {
    const indexes = keys.flatMap((key, index) => (missing.has(key) ? [index] : []));
    return absent(
      place,
      indexes.map((index) => keyText(keys[index])),
      (nth) => (place === 'query' ? '/pk' : this.#keyPlace(indexes[nth]!)),
    );
  }

  /** Throws InvalidUsage if two different keys match the same record in the database. */
  checkDistinct(records: readonly object[], place: 'body' | 'query'): void {
    const seen = new Set<object>();
    const twice = records.flatMap((record, index) => (seen.size === seen.add(record).size ? [index] : []));
    if (twice.length === 0) return;
    if (place === 'query') throw refuse(TWICE);
    throw invalidInput(
      'body',
      twice.map((index) => ({ path: this.#keyPlace(index), message: 'is named twice' })),
    );
  }

  #keyPlace(index: number): string {
    return `/${index}${pointerStep(this.#keyName)}`;
  }

  #withKey(schema: TObject): TObject {
    const name = this.#keyName;
    const properties = { [name]: writeSchema(this.#field, false), ...schema.properties };
    return Object.assign(withProperties(schema, properties, 'required'), { required: [name] });
  }

  #keyOf(json: unknown, path: string, problems: Problem[], named: Set<string>): unknown {
    const place = path + pointerStep(this.#keyName);
    const missing = json === undefined ? 'is required' : undefined;
    const problem = typeof json === 'string' ? textProblem(json) : missing;
    if (problem === undefined) return readKey(columnRule(this.#field), json, place, problems, named);
    problems.push({ path: place, message: problem });
    return undefined;
  }

  #readItem(
    request: FastifyRequest,
    item: unknown,
    operation: InputOperation,
    path: string,
    faults: Problem[],
  ): ReadBody {
    try {
      return this.#input!.read(request, item, modeOf(operation), path);
    } catch (error) {
      if (!(error instanceof InvalidUsage)) throw error;
      faults.push(...placedAt(path, error.details ?? []));
      return validBody({}, path);
    }
  }
}

/** Reports whether a view writes several records. It can only update them by PATCH. */
function isOffered(
  operation: WriteOperation,
  { operations, updateMethods }: Pick<FeatureView, 'operations' | 'updateMethods'>,
): boolean {
  return operations.includes(operation) && (operation !== 'update' || updateMethods.includes('PATCH'));
}

/** @throws ImproperlyConfigured if the name of the key is another property's name in bodies */
function nameOfKey(owner: string, key: string, input: ViewInput | undefined): string {
  const fields = (input?.choicesFor('update') ?? []).flatMap(({ shape }) => shape.fields);
  const other = fields.find(({ name, sentAs }) => sentAs === key && name !== key);
  if (other === undefined) return fields.find(({ name }) => name === key)?.sentAs ?? key;
  throw new ImproperlyConfigured(`${owner}: "${key}" names a record, but in a body it is the property "${other.name}"`);
}

function modeOf(operation: InputOperation): BodyMode {
  return operation === 'create' ? 'create' : 'change';
}

function refuse(message: string): InvalidUsage {
  return invalidInput('query', [{ path: '/pk', message }]);
}

function absent(place: 'body' | 'query', names: readonly string[], pathOf: (index: number) => string): NotFound {
  const listed = names.slice(0, NAMED_IN_MESSAGE).join(', ');
  const more = names.length > NAMED_IN_MESSAGE ? ` and ${names.length - NAMED_IN_MESSAGE} more` : '';
  const details = names
    .slice(0, MAX_PROBLEMS)
    .map((name, index) => ({ in: place, path: pathOf(index), message: `names no record: ${name}` }));
  return new NotFound(`Not found: ${listed}${more}`, { details });
}
