import { BOOLEAN, NAMES, type OptionRule, TEXT, TEXTS, TEXTS_BY_NAME } from '../../errors/options.ts';
import type { Examples, Words } from './action.ts';
import type { Operation } from '../request/operation.ts';

/** The texts about a view, for documents. */
export interface ViewDocumentation {
  /** The description of the view's tag. */
  readonly description?: string | undefined;
  /** The tags that group the view's operations. Default: the first half of its route names. */
  readonly tags?: readonly string[] | undefined;
  /** True: clients should no longer use the view. */
  readonly deprecated?: boolean | undefined;
  /** One line about each operation. Default: made from its name. */
  readonly summaries?: Readonly<Partial<Record<Operation, string>>> | undefined;
  /** A longer text about each operation. Default: none. */
  readonly descriptions?: Readonly<Partial<Record<Operation, string>>> | undefined;
  /** Examples of an operation's body and responses. */
  readonly examples?: Readonly<Partial<Record<Operation, Examples>>> | undefined;
  /** The texts about the fields of records, by name. */
  readonly fieldWords?: Readonly<Record<string, Words>> | undefined;
  /** The texts about query parameters, by name. They replace the texts of filters and paginators. */
  readonly parameterWords?: Readonly<Record<string, Words>> | undefined;
}

/** The rules for the texts about a view. */
export const DOCUMENTATION_RULES: Readonly<Record<keyof ViewDocumentation, OptionRule>> = {
  description: TEXT,
  tags: TEXTS,
  deprecated: BOOLEAN,
  summaries: TEXTS_BY_NAME,
  descriptions: TEXTS_BY_NAME,
  examples: NAMES,
  fieldWords: NAMES,
  parameterWords: NAMES,
};
