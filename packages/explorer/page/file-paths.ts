import { templatePattern } from './path-template.ts';
import { type ApiDocument, follow, type Schema } from './openapi.ts';

const known = new WeakMap<ApiDocument, readonly RegExp[]>();

/**
 * Tells if a text is the path of a file that the document declares: a route of one record that answers bytes. Nothing else that stands
 * in a record may be fetched, since the page sends the reader's token along.
 */
export function isFilePath(document: ApiDocument, url: string): boolean {
  let patterns = known.get(document);
  if (patterns === undefined) known.set(document, (patterns = patternsOf(document)));
  // The parser resolves dots, backslashes and other servers, so that what it leaves as it was is a bare path. It reads `ws:` like `http:`.
  const path = URL.parse(url, 'ws://server')?.pathname;
  return path === url && patterns.some((pattern) => pattern.test(path));
}

function patternsOf(document: ApiDocument): readonly RegExp[] {
  return Object.entries(document.paths ?? {})
    .filter(([, { get }]) => get?.['x-viewset']?.detail === true)
    .filter(([, { get }]) => {
      const { content = {} } = follow<{ content?: Record<string, { schema?: Schema }> }>(
        document,
        get?.responses?.['200'] ?? {},
      );
      return Object.values(content).some(({ schema }) => follow<Schema>(document, schema ?? {}).format === 'binary');
    })
    .map(([template]) => templatePattern(template));
}
