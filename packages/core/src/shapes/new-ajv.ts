import type { ErrorObject } from 'ajv/dist/core.js';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { isMultipleOf } from './exact-number.ts';
import { addAllFormats } from './formats.ts';

/** What Type.Refine adds to a schema. */
interface Refinement {
  check(value: unknown): boolean;
  error?: ((value: unknown) => string) | string;
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
  ajv.addKeyword({ keyword: 'multipleOf', type: 'number', schemaType: 'number', validate: checkMultiple });
  ajv.addKeyword({ keyword: 'refine', schemaType: 'array', validate: checkRefinements });
  return ajv;
}

interface KeywordFunction<Schema> {
  (schema: Schema, value: unknown): boolean;
  errors?: Partial<ErrorObject>[];
}

const checkMultiple: KeywordFunction<number> = (step, value) => {
  if (isMultipleOf(value as number, step)) return true;
  checkMultiple.errors = [{ keyword: 'multipleOf', params: { multipleOf: step } }];
  return false;
};

const checkRefinements: KeywordFunction<readonly Refinement[]> = (refinements, value) => {
  const failed = refinements.filter(({ check }) => !check(value));
  checkRefinements.errors = failed.map(({ error }) => ({
    keyword: 'refine',
    message: (typeof error === 'function' ? error(value) : error) ?? 'is not valid',
    params: {},
  }));
  return failed.length === 0;
};
