import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An `@example` of a docstring. */
export interface DocstringExample {
  /** The source file, as seen from the repository's root. */
  readonly source: string;
  /** The line of the first line of code, counted from 1. */
  readonly line: number;
  readonly code: string;
}

const DOCSTRING = /\/\*\*(?:[^*]|\*(?!\/))*\*\//g;
const EXAMPLE = /@example\n((?:(?!\n\s*\* @).|\n)*?)\s*\*\/$/;

/** Lists the examples of a package's docstrings, whether or not what they explain is public. */
export function docstringExamples(root: string, folder: string): DocstringExample[] {
  return globSync(`${folder}/src/**/*.ts`, { cwd: root }).flatMap((source) => {
    const text = readFileSync(join(root, source), 'utf8');
    return [...text.matchAll(DOCSTRING)].flatMap((docstring) => {
      const example = EXAMPLE.exec(docstring[0]);
      if (example === null) return [];
      const before = text.slice(0, docstring.index + example.index);
      const code = (example[1] ?? '').replaceAll(/^\s*\* ?/gm, '');
      return [{ source, line: before.split('\n').length + 1, code }];
    });
  });
}

/** Lists the names that a source file exports. */
export function exportedNames(text: string): string[] {
  const declared = text.matchAll(
    /^export (?:declare )?(?:abstract )?(?:async )?(?:class|function\*?|const|interface|type) (\w+)/gm,
  );
  const lists = text.matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  const listed = [...lists].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.replace(/\btype\b/, '').trim()),
  );
  return [...[...declared].map(([, name = '']) => name), ...listed].filter((name) => name !== '');
}

/**
 * Returns the program of an example: each line at its place in the source file, after one line that imports what the example
 * uses. A method alone is put into a view.
 * @param modules what may be imported, by the module to import it from; the first that has a name gives it
 */
export function exampleProgram(
  { code, line }: DocstringExample,
  modules: ReadonlyMap<string, readonly string[]>,
): string {
  const bare = code.replaceAll(/\/\/.*$/gm, '');
  const words = new Set(bare.match(/[A-Za-z_]\w*/g));
  const own = new Set(
    [...bare.matchAll(/\b(?:class|const|function|interface|type|import \{) (\w+)/g)].map(([, name]) => name),
  );
  const isMember = /^(?:\/\/.*\n)*(?:protected )?override /.test(code);
  const wanted = new Set(['ModelViewSet', 'Product', 'read', 'write'].filter(() => isMember));
  const taken = new Set<string>();
  const imports = [...modules].flatMap(([module, names]) => {
    const given = [...new Set(names)].filter(
      (name) => !own.has(name) && !taken.has(name) && (words.has(name) || wanted.has(name)),
    );
    for (const name of given) taken.add(name);
    return given.length === 0 ? [] : [`import { ${given.join(', ')} } from '${module}';`];
  });
  const lines = [imports.join(' '), ...Array.from({ length: line - 3 }, () => '')];
  lines.push(
    isMember ? 'class Example extends ModelViewSet(Product, { read, write }) {' : '',
    code,
    isMember ? '}' : '',
  );
  return `${lines.join('\n')}\nexport {};\n`;
}
