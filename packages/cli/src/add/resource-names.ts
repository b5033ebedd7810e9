import { Mistake } from '../mistake.ts';

/** The names of a resource in an application's files. */
export interface ResourceNames {
  /** `BookReview` */
  readonly entity: string;
  /** `bookReview` */
  readonly one: string;
  /** The path, also used in file names: `book-reviews`. */
  readonly path: string;
}

/** @throws Mistake if the name is not a class name */
export function nameResource(entity: string, plural: string | undefined): ResourceNames {
  if (!/^[A-Z][A-Za-z0-9]*$/.test(entity)) {
    throw new Mistake(`"${entity}" must be a name such as Book or BookReview`);
  }
  const words = entity.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
  const path = plural ?? pluralOf(words);
  if (!/^[a-z][a-z0-9-]*$/.test(path)) throw new Mistake(`--plural must be a path such as people, but got "${path}"`);
  return { entity, one: `${entity[0]!.toLowerCase()}${entity.slice(1)}`, path };
}

function pluralOf(word: string): string {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`;
}
