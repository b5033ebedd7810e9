import { readdirSync, readFileSync } from 'node:fs';
import { type Comment, parseSync } from 'oxc-parser';

/** A statement or a member of a declaration file, as far as it matters here. */
interface Declared {
  readonly start: number;
  readonly accessibility?: string | null;
  readonly id?: { readonly name?: string } | null;
  readonly key?: { readonly name?: string };
  readonly declaration?: Declared | null;
  readonly body?: { readonly body?: readonly Declared[] } | null;
}

/** Lists the names that the declarations of a package have for private things alone: `@internal`, `private` or `protected`. */
export function privateNames(folder: URL): Set<string> {
  const hidden = new Set<string>();
  const shown = new Set<string>();
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.d.ts'));
  for (const { name, isPrivate } of files.flatMap((file) =>
    namesOf(file, readFileSync(new URL(file, folder), 'utf8')),
  )) {
    (isPrivate ? hidden : shown).add(name);
  }
  return new Set([...hidden].filter((name) => !shown.has(name)));
}

interface Name {
  readonly name: string;
  readonly isPrivate: boolean;
}

/** The names of what a file declares, and of its members. */
function namesOf(file: string, source: string): Name[] {
  const { program, comments } = parseSync(file, source);
  return (program.body as readonly Declared[]).flatMap((statement) => {
    const { id, body } = statement.declaration ?? statement;
    const isInternal = isMarked(source, comments, statement.start);
    const members = (body?.body ?? []).map(({ key, start, accessibility }) => {
      const isOwn = accessibility === 'private' || accessibility === 'protected';
      return { name: key?.name, isPrivate: isInternal || isOwn || isMarked(source, comments, start) };
    });
    const all = [{ name: id?.name, isPrivate: isInternal }, ...members];
    return all.filter((one): one is Name => one.name !== undefined);
  });
}

function isMarked(source: string, comments: readonly Comment[], start: number): boolean {
  const last = comments.findLast(({ end }) => end <= start);
  return last?.value.includes('@internal') === true && source.slice(last.end, start).trim() === '';
}
