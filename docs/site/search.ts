/** Says how the site's search reads texts and ranks pages; the site and its test have it from here. */
import type { DefaultTheme, MarkdownEnv } from 'vitepress';
import { SYNONYMS } from './synonyms.ts';

/**
 * Returns the terms of a word: the word itself, and the parts of a name in camel case, so that "page size" finds `pageSize`. Words that
 * every question has, "how do I", are none. VitePress sends this function to the browser as text: it must not use anything
 * outside itself.
 */
function processTerm(term: string): string | string[] | null {
  const common =
    'a an and are as at be by can do does for from how i if in into is it its me my of on or our own should so that the their them then there these this to we what when where which who why will with you your'.split(
      ' ',
    );
  const lower = term.toLowerCase();
  if (common.includes(lower)) return null;
  const parts = term.split(/(?<=[a-z\d])(?=[A-Z])/).map((part) => part.toLowerCase());
  const singular = lower.length > 4 ? lower.replace(/s$/, '') : lower;
  return [...new Set([lower, singular, ...(parts.length > 1 ? parts : [])])];
}

export const MINI_SEARCH = {
  options: { processTerm },
  searchOptions: {
    fuzzy: (term: string) => (term.length > 5 ? 0.15 : false),
    prefix: (term: string) => term.length > 2,
    boost: { title: 4, titles: 2, text: 1 },
    /** A page that explains comes before the reference that lists, and before the page for contributors. */
    boostDocument: (id: string) =>
      /^\/(?:reference|[^#]*-changes|changes|performance|architecture)/.test(id) ? 0.2 : 1,
  },
} satisfies NonNullable<DefaultTheme.LocalSearchOptions['miniSearch']>;

/**
 * Renders a page for the index. The synonyms of a page stand below its title. The reference is not in the index: it made two thirds of the
 * bytes that a browser loads at the first search. Its own sidebar lists every name.
 */
export function renderForSearch(
  source: string,
  env: MarkdownEnv,
  markdown: { render(source: string, env: MarkdownEnv): string },
): string {
  const { relativePath } = env;
  if (relativePath.startsWith('reference/')) return '';
  const html = markdown.render(source, env);
  if (env.frontmatter?.search === false) return '';
  const words = SYNONYMS[relativePath.replace(/\.md$/, '')];
  return words === undefined ? html : html.replace('</h1>', (end) => `${end}<p>${words}</p>`);
}
