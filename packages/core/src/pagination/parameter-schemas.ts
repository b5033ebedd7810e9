import { Type } from 'typebox';
import type { ParameterDeclaration } from '../parameters.ts';
import { MAX_INTEGER } from './integer-parameter.ts';
import type { PageSizes } from './paginator.ts';

/** The declaration of a parameter that asks for so many records. */
export function sizeDeclaration(name: string, { pageSize, maxPageSize }: PageSizes): ParameterDeclaration {
  const description = `Records a page; at most ${maxPageSize}, more counts as ${maxPageSize}`;
  return { name, schema: Type.Integer({ minimum: 1, maximum: MAX_INTEGER, default: pageSize, description }) };
}

/** The declaration of a parameter that holds an integer from `minimum`, which is its default too. */
export function integerDeclaration(name: string, minimum: 0 | 1, description: string): ParameterDeclaration {
  return { name, schema: Type.Integer({ minimum, maximum: MAX_INTEGER, default: minimum, description }) };
}
