export { explorer } from './explorer.ts';
export type { ExplorerOptions } from './options.ts';
export { prefersHtml } from './prefers-html.ts';
export type { ExplorerTexts } from './texts.ts';
