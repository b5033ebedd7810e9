import type { ErrorObject } from 'ajv/dist/core.js';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { multiplesOf } from './exact-number.ts';
import { addAllFormats } from './formats.ts';
import { REFINE } from './schema-keywords.ts';

/** What Type.Refine adds to a schema. */
interface Refinement {
  readonly check: (value: unknown) => boolean;
  readonly error?: ((value: unknown) => string) | string;
}

/**
 * AJV as this framework uses it: strict about keywords and formats it does not know (a misspelt `maxLenght` must not go
 * unnoticed), without coercion, with `multipleOf` judged in decimal arithmetic and with TypeBox's refinements.
 */
export function newAjv(allErrors: boolean): Ajv2019 {
  const ajv = new Ajv2019({
    allErrors,
    verbose: true,
    strict: true,
    strictTuples: false,
    strictTypes: false,
    allowUnionTypes: true,
    addUsedSchema: false,
    meta: false,
    validateSchema: false,
    logger: false,
  });
  addAllFormats(ajv);
  ajv.addVocabulary(['example', 'externalDocs', 'xml', 'discriminator']);
  ajv.removeKeyword('multipleOf');
  ajv.addKeyword({ keyword: 'multipleOf', type: 'number', schemaType: 'number', compile: multipleCheck });
  ajv.addKeyword({ keyword: REFINE, schemaType: 'array', validate: checkRefinements });
  return ajv;
}

interface ValueCheck {
  (value: unknown): boolean;
  errors?: Partial<ErrorObject>[];
}

interface KeywordFunction<Schema> {
  (schema: Schema, value: unknown, parentSchema?: { type?: string | readonly string[] }): boolean;
  errors?: Partial<ErrorObject>[];
}

function multipleCheck(step: number): ValueCheck {
  if (!(step > 0)) throw new RangeError(`multipleOf must be greater than 0, not ${step}`);
  const isMultiple = multiplesOf(step);
  const check: ValueCheck = (value) => {
    if (isMultiple(value as number)) return true;
    // Anew each time: AJV writes into what it is given, and adds to it.
    check.errors = [{ keyword: 'multipleOf', params: { multipleOf: step } }];
    return false;
  };
  return check;
}

/** As in TypeBox, a refinement is only asked about a value of the type that its schema declares. */
const checkRefinements: KeywordFunction<readonly Refinement[]> = (refinements, value, parentSchema) => {
  checkRefinements.errors = [];
  if (!isOfType(value, parentSchema?.type)) return true;
  for (const refinement of refinements) {
    const error = refusal(refinement, value);
    if (error !== undefined) checkRefinements.errors.push({ keyword: REFINE, ...error });
  }
  return checkRefinements.errors.length === 0;
};

/** A refinement may throw of a value whose parts are not valid. Whether that is so is known only later. */
function refusal({ check, error }: Refinement, value: unknown): Partial<ErrorObject> | undefined {
  try {
    if (check(value)) return undefined;
    return { message: (typeof error === 'function' ? error(value) : error) ?? 'is not valid', params: {} };
  } catch (thrown) {
    return { params: { thrown } };
  }
}

function isOfType(value: unknown, declared: string | readonly string[] | undefined): boolean {
  if (declared === undefined) return true;
  const types: ReadonlySet<string> = new Set([declared].flat());
  if (value === null) return types.has('null');
  if (Array.isArray(value)) return types.has('array');
  return types.has(typeof value) || (Number.isInteger(value) && types.has('integer'));
}
