import type { TSchema } from 'typebox';
import { Compile, Errors, Pointer, type Validator } from 'typebox/schema';
import { Settings } from 'typebox/system';
import { ImproperlyConfigured } from '../errors.ts';
import { pointerStep } from '../json-pointer.ts';
import { type SchemaJudges, engineSchema } from './engine-schema.ts';
import { type Place, faultMessage } from './error-details.ts';
import { type JsonSchema, schemaRefs } from './json-schema.ts';
import { MAX_PROBLEMS, type Problem } from './scan-input.ts';
import { type Fault, type Member, type Rule, within } from './schema-rules.ts';

/** A document of more values than this is named its first problem alone: naming each would cost too much. */
const MAX_SIZE_FOR_ALL_PROBLEMS = 2_000;

/** A plain schema, compiled: it says what is wrong with a value, and which of its parts a value is valid by. */
export class CompiledSchema implements SchemaJudges {
  readonly place: Place;
  readonly resolveRef: (ref: string) => JsonSchema;
  readonly #root: SchemaPart;
  readonly #parts = new Map<JsonSchema, SchemaPart>();
  readonly #filled: ReadonlySet<JsonSchema>;
  /** The verdicts of shared parts on the objects of one document. */
  readonly #verdicts = new Map<object, Map<JsonSchema, boolean>>();

  /** @throws ImproperlyConfigured for a schema that cannot be kept to */
  constructor(schema: JsonSchema, place: Place) {
    this.place = place;
    this.resolveRef = schemaRefs(schema);
    this.#filled = new Set(filledIn(schema));
    try {
      this.#root = this.#partOf(schema);
      // The map grows meanwhile: a part names others when it is compiled.
      for (const part of this.#parts.values()) part.compile();
    } catch (error) {
      throw new ImproperlyConfigured(`The ${place} schema cannot be compiled: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  /** Says what is wrong with a document of `size` values in all. */
  problems(value: unknown, size: number): Problem[] {
    if (this.#root.check(value)) return [];
    const all = new Map(this.#root.problems(value).map((problem) => [`${problem.path} ${problem.message}`, problem]));
    return [...all.values()].slice(0, size <= MAX_SIZE_FOR_ALL_PROBLEMS ? MAX_PROBLEMS : 1);
  }

  /** Forgets the document that was judged; to be called at the end of each. */
  forget(): void {
    this.#verdicts.clear();
  }

  /** Tells if a value is valid by a member of a union or the `if` of this schema. */
  accepts(schema: JsonSchema, value: unknown): boolean {
    return this.shared(schema).check(value);
  }

  fillsIn(schema: JsonSchema): boolean {
    return this.#filled.has(schema);
  }

  of(schema: JsonSchema): Member {
    return this.#partOf(schema);
  }

  shared(schema: JsonSchema): Member {
    const isReference = schema.$ref !== undefined && Object.keys(schema).length === 1;
    if (isReference) return this.referred(schema.$ref);
    const part = this.#partOf(schema);
    return {
      schema,
      check: (value) => this.#verdict(part, value),
      problems: (value) => part.problems(value),
      faults: (value) => part.faults(value),
    };
  }

  referred(ref: string): Member {
    return this.shared(this.resolveRef(ref));
  }

  /**
   * Asks a part about an object once, however many unions and references lead to it: without that a schema that contains
   * itself would be asked a number of times that doubles with each level of the document.
   */
  #verdict(part: SchemaPart, value: unknown): boolean {
    if (typeof value !== 'object' || value === null) return part.check(value);
    let verdicts = this.#verdicts.get(value);
    if (verdicts === undefined) this.#verdicts.set(value, (verdicts = new Map<JsonSchema, boolean>()));
    let verdict = verdicts.get(part.schema);
    if (verdict === undefined) verdicts.set(part.schema, (verdict = part.check(value)));
    return verdict;
  }

  #partOf(schema: JsonSchema): SchemaPart {
    let part = this.#parts.get(schema);
    if (part === undefined) this.#parts.set(schema, (part = new SchemaPart(schema, this)));
    return part;
  }
}

/** Lists the schemas whose defaults are filled in: all but those inside unions, conditions and references. */
function* filledIn(schema: JsonSchema): Generator<JsonSchema> {
  yield schema;
  for (const child of Object.values(schema.properties ?? {})) yield* filledIn(child);
  for (const part of schema.allOf ?? []) yield* filledIn(part);
  if (schema.items !== undefined && !Array.isArray(schema.items)) yield* filledIn(schema.items as JsonSchema);
}

/** One schema as a function that TypeBox generates, with the rules that ask other parts. */
class SchemaPart implements Member {
  readonly schema: JsonSchema;
  readonly #owner: CompiledSchema;
  #written: TSchema = {};
  #validator: Validator | undefined;

  constructor(schema: JsonSchema, owner: CompiledSchema) {
    this.schema = schema;
    this.#owner = owner;
  }

  compile(): void {
    this.#written = engineSchema(this.schema, this.#owner);
    this.#validator = Compile(this.#written) as Validator;
  }

  check(value: unknown): boolean {
    return this.#validator!.Check(value);
  }

  problems(value: unknown): Problem[] {
    return this.faults(value).flatMap((fault) => this.#inWords(fault, value));
  }

  faults(value: unknown): Fault[] {
    // TypeBox stops at a number of errors that is one for the whole process, the application's own use included.
    const { maxErrors } = Settings.Get();
    Settings.Set({ maxErrors: MAX_PROBLEMS });
    try {
      const [, errors] = Errors(this.#written, value);
      return errors.map(({ keyword, instancePath, schemaPath, params }) => ({
        keyword,
        path: instancePath,
        params: keyword === '~refine' ? { rule: this.#ruleAt(schemaPath, params as { index: number }) } : { ...params },
      }));
    } finally {
      Settings.Set({ maxErrors });
    }
  }

  #ruleAt(schemaPath: string, { index }: { readonly index: number }): Rule {
    const { '~refine': rules } = Pointer.Get(this.#written, schemaPath.slice(1)) as { '~refine': readonly Rule[] };
    return rules[index]!;
  }

  #inWords({ keyword, path, params }: Fault, value: unknown): readonly Problem[] {
    const part: unknown = path === '' ? value : Pointer.Get(value, path);
    if (keyword === '~refine') return within(path, (params['rule'] as Rule).problems(part));
    if (keyword !== 'required') return [{ path, message: faultMessage(keyword, params, part, this.#owner.place) }];
    const missing = params['requiredProperties'] as readonly string[];
    return missing.map((name) => ({ path: path + pointerStep(name), message: 'is required' }));
  }
}
