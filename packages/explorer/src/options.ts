import { checkOptionNames, wrongOption } from '@viewset/core';

/** The options of the `explorer` plugin; none is required. */
export interface ExplorerOptions {
  /** The title of the page until it has read the document. Then it shows the document's title. Default: `API`. */
  readonly title?: string;
  /** The path of the OpenAPI document in JSON, as browsers see it. Default: `/openapi.json`, below the prefix of the scope. */
  readonly documentPath?: string;
  /** The path below which the page's script and style are served. Default: `/explorer`. */
  readonly assetsPath?: string;
  /** The language of the texts, a value for HTML's `lang`. Default: `en`. */
  readonly language?: string;
  /**
   * The file of a JavaScript module whose default export replaces texts of the page by their names (`ExplorerTexts`). It is
   * read once, and runs in browsers. Default: none, the texts are English.
   */
  readonly texts?: URL;
}

/** The options with their defaults. */
export type ResolvedOptions = Readonly<Required<Omit<ExplorerOptions, 'texts'>> & { texts: URL | undefined }>;

const OPTION_NAMES: readonly (keyof ExplorerOptions)[] = ['title', 'documentPath', 'assetsPath', 'language', 'texts'];

/**
 * Fills in the defaults.
 *
 * @throws ImproperlyConfigured for an unknown or a wrong option
 */
export function resolveOptions(options: ExplorerOptions, prefix: string): ResolvedOptions {
  checkOptionNames('explorer', options, OPTION_NAMES);
  const {
    title = 'API',
    documentPath = `${prefix}/openapi.json`,
    assetsPath = '/explorer',
    language = 'en',
    texts,
  } = options;
  if (typeof title !== 'string' || title === '') throw wrongOption('explorer', 'title', 'a text', title);
  for (const [name, value] of Object.entries({ documentPath, assetsPath })) {
    if (!isPath(value)) throw wrongOption('explorer', name, 'a path such as "/explorer"', value);
  }
  if (typeof language !== 'string' || !/^[a-z]{2,3}(?:-[a-z\d]+)*$/i.test(language)) {
    throw wrongOption('explorer', 'language', 'a language tag such as "de"', language);
  }
  if (texts !== undefined && !(texts instanceof URL && texts.protocol === 'file:')) {
    throw wrongOption('explorer', 'texts', 'the URL of a file', texts);
  }
  return Object.freeze({ title, documentPath, assetsPath, language, texts });
}

function isPath(path: unknown): boolean {
  return typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path);
}
