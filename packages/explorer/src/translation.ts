import { checkOptionNames, ImproperlyConfigured } from '@viewset/core';
import { readFile } from 'node:fs/promises';
import { type ExplorerTexts, texts } from './texts.ts';

/** The texts of another language, and the module for browsers that contains them. */
export interface Translation {
  readonly script: string;
  readonly texts: Partial<ExplorerTexts>;
}

/**
 * Reads a translation module.
 *
 * @throws ImproperlyConfigured for an unknown text, or a value of another type than the original
 */
export async function readTranslation(file: URL): Promise<Translation> {
  const { default: given } = (await import(file.href)) as { default?: Partial<ExplorerTexts> };
  checkOptionNames('explorer texts', given ?? {}, Object.keys(texts));
  for (const [name, value] of Object.entries(given ?? {})) {
    const kind = typeof texts[name as keyof ExplorerTexts];
    if (typeof value !== kind) throw new ImproperlyConfigured(`explorer texts: "${name}" must be a ${kind}`);
  }
  return { script: await readFile(file, 'utf8'), texts: given ?? {} };
}
