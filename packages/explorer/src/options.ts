import { checkOptionNames, wrongOption } from '@viewset/core';

/** The options of the `explorer` plugin; none is required. */
export interface ExplorerOptions {
  /** The title of the page until it has read the document, whose own it then takes. Default: `API`. */
  readonly title?: string;
  /** The path of the OpenAPI document in JSON, as browsers see it. Default: `/openapi.json`, below the prefix of the scope. */
  readonly documentPath?: string;
  /** The path below which the page's script and style are served. Default: `/explorer`. */
  readonly assetsPath?: string;
}

const OPTION_NAMES: readonly (keyof ExplorerOptions)[] = ['title', 'documentPath', 'assetsPath'];

/**
 * Fills in the defaults.
 *
 * @throws ImproperlyConfigured for an unknown or a wrong option
 */
export function resolveOptions(options: ExplorerOptions, prefix: string): Readonly<Required<ExplorerOptions>> {
  checkOptionNames('explorer', options, OPTION_NAMES);
  const { title = 'API', documentPath = `${prefix}/openapi.json`, assetsPath = '/explorer' } = options;
  if (typeof title !== 'string' || title === '') throw wrongOption('explorer', 'title', 'a text', title);
  for (const [name, value] of Object.entries({ documentPath, assetsPath })) {
    if (!isPath(value)) throw wrongOption('explorer', name, 'a path such as "/explorer"', value);
  }
  return Object.freeze({ title, documentPath, assetsPath });
}

function isPath(path: unknown): boolean {
  return typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path);
}
