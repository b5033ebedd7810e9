import type { AnyValidateFunction, ErrorObject } from 'ajv/dist/core.js';
import { ImproperlyConfigured } from '../errors.ts';
import { CompiledSchema } from './compiled-schema.ts';
import type { Problem } from './copy-input.ts';
import { mustBe, mustBeOneOf, problemOf, type Place } from './error-details.ts';
import { namedTypes, type JsonSchema } from './json-schema.ts';
import { newAjv } from './new-ajv.ts';
import { REFINE } from './schema-keywords.ts';

/** A value of more parts than this is judged only up to its first error: naming each of them would cost too much. */
const MAX_SIZE_FOR_ALL_ERRORS = 2_000;

/** One schema, and what AJV has against a value in words for people. */
export class SchemaCheck {
  readonly #schema: JsonSchema;
  readonly #place: Place;
  readonly #compiled: CompiledSchema;
  #validateToFirstError: AnyValidateFunction | undefined;

  /** @throws ImproperlyConfigured for a schema that cannot be compiled */
  constructor(schema: JsonSchema, place: Place) {
    this.#schema = schema;
    this.#place = place;
    try {
      this.#compiled = new CompiledSchema(schema);
    } catch (error) {
      throw new ImproperlyConfigured(`The ${place} schema cannot be compiled: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  /** What is wrong with a value that holds `size` values in all. */
  problems(value: unknown, size: number): Problem[] {
    const validate = size <= MAX_SIZE_FOR_ALL_ERRORS ? this.#compiled.validate : this.#toFirstError();
    if (validate(value) === true) return [];
    return this.#explain(validate.errors ?? []);
  }

  /** Whether a value is valid by a member of a union (or the `if`) of this schema. */
  accepts(member: JsonSchema, value: unknown): boolean {
    return this.#compiled.members.get(member)?.(value) === true;
  }

  #toFirstError(): AnyValidateFunction {
    this.#validateToFirstError ??= newAjv(false).compile(this.#schema);
    return this.#validateToFirstError;
  }

  /** The errors in words. Those of the members of a union are replaced by those of the member that was meant. */
  #explain(errors: readonly ErrorObject[]): Problem[] {
    const problems: Problem[] = [];
    for (const error of errors) {
      if (error.keyword === 'if' || error.keyword === REFINE) continue;
      if (error.keyword === 'anyOf' || error.keyword === 'oneOf') {
        dropBeneath(problems, error.instancePath);
        problems.push(...this.#explainUnion(error));
      } else {
        problems.push(problemOf(error, this.#place));
      }
    }
    problems.push(...this.#refused(errors, problems));
    return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
  }

  /**
   * What refinements refuse. A refinement counts on a value that is otherwise valid, so of any other what it says (or
   * throws) is nothing.
   *
   * @throws what a refinement has thrown of a value that is otherwise valid
   */
  #refused(errors: readonly ErrorObject[], problems: readonly Problem[]): Problem[] {
    return errors
      .filter(
        ({ keyword, instancePath }) => keyword === REFINE && !problems.some(({ path }) => isWithin(path, instancePath)),
      )
      .map((error) => {
        if (error.params['thrown'] !== undefined) throw error.params['thrown'];
        return problemOf(error, this.#place);
      });
  }

  #explainUnion(error: ErrorObject): Problem[] {
    const members = error.schema as readonly JsonSchema[];
    const attempts = members.map((member) => this.#attempt(member, error.data));
    const [best] = attempts.toSorted((a, b) => a.distance - b.distance);
    if (best === undefined || best.errors.length === 0) return [problemOf(error, this.#place)];
    if (best.distance >= OTHER_TYPE) {
      return [{ path: error.instancePath, message: mustBe([...new Set(members.flatMap(namedTypes))]) }];
    }
    if (best.distance >= OTHER_LITERAL) {
      return [
        unknownLiteral(
          error.instancePath,
          attempts.flatMap(({ errors }) => errors),
        ),
      ];
    }
    return this.#explain(best.errors).map(({ path, message }) => ({ path: error.instancePath + path, message }));
  }

  #attempt(member: JsonSchema, data: unknown): { errors: ErrorObject[]; distance: number } {
    const validate = this.#compiled.members.get(member);
    const errors = validate === undefined || validate(data) === true ? [] : [...(validate.errors ?? [])];
    return { errors, distance: errors.reduce((sum, error) => sum + distanceOf(error), 0) };
  }
}

const OTHER_TYPE = 10_000;
const OTHER_LITERAL = 100;

/** How far an error speaks against a member of a union being the one that was meant. */
function distanceOf(error: ErrorObject): number {
  if (error.keyword === 'type' && error.instancePath === '') return OTHER_TYPE;
  return error.keyword === 'const' || error.keyword === 'enum' ? OTHER_LITERAL : 1;
}

/** No member is meant: what tells them apart (`kind`) is none of the literals that they ask for. */
function unknownLiteral(path: string, errors: readonly ErrorObject[]): Problem {
  const literals = errors.filter(({ keyword }) => keyword === 'const' || keyword === 'enum');
  const [first] = literals;
  const allowed = literals
    .filter(({ instancePath }) => instancePath === first?.instancePath)
    .flatMap(({ params }) => (params['allowedValues'] ?? [params['allowedValue']]) as unknown[]);
  return { path: path + (first?.instancePath ?? ''), message: mustBeOneOf([...new Set(allowed)]) };
}

function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}/`);
}

function dropBeneath(problems: Problem[], path: string): void {
  const kept = problems.filter((problem) => !isWithin(problem.path, path));
  problems.splice(0, problems.length, ...kept);
}
