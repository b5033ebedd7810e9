import { parseSync } from 'oxc-parser';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Mutant } from './mutants.ts';

/** The sources of an example, of which mutants are copies. */
export class Sources {
  readonly #folder: string;
  readonly #texts = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (name.endsWith('.ts')) this.#texts.set(name, readFileSync(join(folder, name), 'utf8'));
    }
  }

  textOf(file: string): string {
    return this.#texts.get(file) ?? '';
  }

  /**
   * Writes the mutated file, and the files that import it, into a folder; their other imports are the originals. Without a mutant it writes
   * the files that import `entry`, unchanged.
   */
  write(into: string, file: string, mutant?: Mutant): void {
    const copied = this.#dependentsOf(file);
    for (const name of copied) {
      const text = this.textOf(name);
      const mutated = name === mutant?.file ? text.slice(0, mutant.start) + mutant.is + text.slice(mutant.end) : text;
      const path = join(into, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, this.#withOriginals(name, mutated, copied, dirname(path)));
    }
  }

  #withOriginals(name: string, text: string, copied: ReadonlySet<string>, folder: string): string {
    return text.replaceAll(/(from|import) '(\.[^']+)'/g, (match, keyword: string, path: string) => {
      const target = join(dirname(name), path);
      if (copied.has(target) || !this.#texts.has(target)) return match;
      return `${keyword} '${relative(folder, join(this.#folder, target))}'`;
    });
  }

  #dependentsOf(file: string): ReadonlySet<string> {
    const found = new Set([file]);
    for (const name of found) {
      for (const [other, text] of this.#texts) if (importsOf(other, text).includes(name)) found.add(other);
    }
    return found;
  }
}

const imports = new Map<string, readonly string[]>();

function importsOf(name: string, text: string): readonly string[] {
  let known = imports.get(text);
  if (known === undefined) {
    const { staticImports } = parseSync(name, text).module;
    known = staticImports
      .map(({ moduleRequest }) => moduleRequest.value)
      .filter((path) => path.startsWith('.'))
      .map((path) => join(dirname(name), path));
    imports.set(text, known);
  }
  return known;
}
