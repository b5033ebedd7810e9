import {
  checkOptionNames,
  ImproperlyConfigured,
  invalidParameter,
  nativeCondition,
  nativeNumber,
  type PathOf,
  type SearchedView,
  type SearchLimits,
  type ViewSearch,
  wrongOption,
} from '@viewset/core';
import {
  type Declaration,
  defineSearch,
  type Definition,
  type FullTextSearch,
  type WeightedField,
} from './definition.ts';
import { formOf } from './forms/form-of.ts';
import { checkIndex } from './index-schema.ts';
import { type FullTextLanguage, LANGUAGES } from './languages.ts';
import { readTerms } from './terms.ts';

type TextName<Entity> = Exclude<PathOf<Entity, '__', 1, 'text'>, `${string}__${string}`>;

/** A text column of the entity itself: `title`, or `title^2` with a weight. */
export type FullTextField<Entity> = TextName<Entity> | `${TextName<Entity>}^${number}`;

/** The options of `fullText()`. */
export interface FullTextOptions {
  /** The language for matching different forms of a word. Default: `none`, which matches words as written. */
  readonly language?: FullTextLanguage;
  /**
   * Part of the names in the database: PostgreSQL's column, the suffix of SQLite's table, MongoDB's index. Default:
   * `full_text`.
   */
  readonly name?: string;
}

/** Indexes do not contain longer words. */
const MAX_WORD_LENGTH = 255;
const MAX_WEIGHT = 1000;

/**
 * Makes a search for a view's option `searchFields`. `?search=` finds whole words with the database's full-text index,
 * and orders the list by rank, best first. `?sort=` overrides this order.
 *
 * Every word must occur in one of the fields. `"words in quotes"` must be next to each other, and `-word` must not
 * occur. A text without words to find returns nothing. More than 20 words give 400. A word in a field of weight 2
 * counts twice as much as in a field of weight 1, the default. Weights are whole numbers from 1 to 1000.
 *
 * The index must exist when the application starts: `fullTextSchema()` returns the statements for a migration.
 *
 * @throws ImproperlyConfigured if fields or options are wrong. Registering the view throws it for fields that are not
 * text columns of the entity. The start of the application throws it for a missing index, with the statements that make
 * it.
 * @example
 * class BookViewSet extends ModelViewSet(Book, {
 *   read: readShape(Book, ['id', 'title']),
 *   searchFields: fullText(['title^2'], { language: 'english' }),
 * }) {}
 * // GET /books?search=green tea -"black tea"
 * // … where (t0."full_text" @@ websearch_to_tsquery('pg_catalog.english', $1) and querytree(…) <> 'T')
 * //   order by ts_rank('{0, 0, 0, 1}', t0."full_text", websearch_to_tsquery('pg_catalog.english', $3)) desc, t0."id"
 */
export function fullText<Entity>(
  fields: readonly FullTextField<Entity>[],
  options: FullTextOptions = {},
): FullTextSearch<Entity> {
  const declaration = readDeclaration(fields, options);
  return Object.freeze({ declaration, forView: (view: SearchedView) => makeSearch(view, declaration) });
}

function readDeclaration(fields: readonly string[], options: FullTextOptions): Declaration {
  if (!Array.isArray(fields) || fields.length === 0) {
    throw wrongOption('fullText()', 'fields', "a list of fields such as ['title^2', 'body']", fields);
  }
  checkOptionNames('fullText()', options, ['language', 'name']);
  const { language = 'none', name = 'full_text' } = options;
  if (language !== 'none' && !LANGUAGES.includes(language)) {
    throw wrongOption('fullText()', 'language', `one of none, ${LANGUAGES.join(', ')}`, language);
  }
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_]{0,30}$/.test(name)) {
    throw wrongOption('fullText()', 'name', 'a name of at most 31 small letters, digits and _, first a letter', name);
  }
  const read = fields.map(readField);
  const twice = read.find((field, index) => read.findIndex((other) => other.name === field.name) !== index);
  if (twice !== undefined) throw new ImproperlyConfigured(`fullText(): "${twice.name}" is named twice`);
  return Object.freeze({ fields: read, language, name });
}

function readField(field: unknown): WeightedField {
  const text = typeof field === 'string' ? field : '';
  const [, name, weight = '1'] = /^([^^]+)(?:\^(\d{1,4}))?$/.exec(text) ?? [];
  const number = Number(weight);
  if (name !== undefined && number >= 1 && number <= MAX_WEIGHT) return { name, weight: number };
  throw wrongOption(
    'fullText()',
    'fields',
    `names of fields with weights from 1 to ${MAX_WEIGHT}, such as "title^2"`,
    field,
  );
}

function makeSearch(view: SearchedView, declaration: Declaration): ViewSearch {
  const definition = defineSearch(view.em, view.meta, declaration);
  const form = formOf(view.database, definition);
  return {
    fields: declaration.fields.map(({ name }) => name),
    keeps: form.keeps,
    describe: ({ maximumWords }) => describe(definition, maximumWords),
    search: (queryset, text, { parameter, maximumWords }: SearchLimits) => {
      const terms = readTerms(text, maximumWords);
      if (terms.words > maximumWords) {
        throw invalidParameter(parameter, `must not have more than ${maximumWords} words`);
      }
      const isTooLong = terms.required.some((phrase) => phrase.some(({ length }) => length > MAX_WORD_LENGTH));
      if (terms.required.length === 0 || isTooLong) return queryset.none();
      const excluded = terms.excluded.filter((phrase) => phrase.every(({ length }) => length <= MAX_WORD_LENGTH));
      const wanted = { ...terms, excluded };
      const rank = nativeNumber(queryset.meta, form.rank, form.rankValues(wanted));
      return queryset
        .where(nativeCondition(queryset.meta, form.matches, form.values(wanted)))
        .orderByPaths([{ path: rank, descending: true }]);
    },
    check: () => checkIndex(view.name, view.em, definition, form),
  };
}

function describe({ columns, language }: Definition, maximumWords: number): string {
  const fields = columns.map(({ name }) => name).join(', ');
  const forms = language === 'none' ? 'as they are written, in either case' : `in the forms of ${language}`;
  return (
    `Words, at most ${maximumWords}, each of which must be found in ${fields}, ${forms}. "Words in quotes" must stand side by side, ` +
    'and -word must not be found. The best match comes first'
  );
}
