import { checkOptionNames, wrongOption } from '@viewset/core';

/** The options of the `explorer` plugin; none is required. */
export interface ExplorerOptions {
  /** The title of the page until it has loaded the document. Then it shows the document's title. Default: `API`. */
  readonly title?: string;
  /** The path of the JSON document, as browsers see it. Default: `/openapi.json`, below the scope's prefix. */
  readonly documentPath?: string;
  /** The path prefix of the page's script and style. Default: `/explorer`. */
  readonly assetsPath?: string;
  /** The language of the texts, as in HTML's `lang` attribute. Default: `en`. */
  readonly language?: string;
  /**
   * The file of a JavaScript module. Its default export replaces texts of the page by name (`ExplorerTexts`). It is
   * read once, and also runs in browsers. Default: none, so the texts are English.
   */
  readonly texts?: URL;
}

/** The options with their defaults. */
export type ResolvedOptions = Readonly<Required<Omit<ExplorerOptions, 'texts'>> & { texts: URL | undefined }>;

const OPTION_NAMES: readonly (keyof ExplorerOptions)[] = ['title', 'documentPath', 'assetsPath', 'language', 'texts'];

/**
 * Fills in the defaults.
 *
 * @throws ImproperlyConfigured if an option is unknown or wrong
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
