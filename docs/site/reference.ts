/** Makes the API reference out of the docstrings. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application, type DeclarationReflection, ReflectionKind } from 'typedoc';
import { descriptionOf, MODULES, sourceOf } from './packages.ts';

/** A public name of a package. */
export interface PublicSymbol {
  readonly name: string;
  readonly isFunction: boolean;
  /** The address of its documentation, without a slash in front: `reference/core/classes/Router`, `reference/core/#viewset`. */
  readonly address: string;
}

export interface Reference {
  readonly symbols: readonly PublicSymbol[];
  /** The fields of every interface of options. */
  readonly options: readonly { readonly owner: string; readonly name: string }[];
  /** Writes the reference as Markdown into a folder. */
  readonly write: (folder: string) => Promise<void>;
}

/** The kinds that have a page each, and their folders. The others stand on the page of their package. */
const PAGE_OF_KIND: ReadonlyMap<ReflectionKind, string> = new Map([
  [ReflectionKind.Class, 'classes'],
  [ReflectionKind.Interface, 'interfaces'],
  [ReflectionKind.Function, 'functions'],
  [ReflectionKind.TypeAlias, 'type-aliases'],
]);

const MARKDOWN = {
  outputFileStrategy: 'members',
  membersWithOwnFile: ['Class', 'Interface', 'Function', 'TypeAlias'],
  entryFileName: 'index',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  indexFormat: 'table',
  pageTitleTemplates: {
    module: ({ name }: { name: string }) => `@viewset/${name}`,
    member: ({ kind, rawName }: { kind: string; rawName: string }) => `${kind}: ${rawName.replace(/<.*$/, '')}`,
  },
};

/** Reads the public names of every package. */
export async function readReference(root: string): Promise<Reference> {
  const app = await Application.bootstrapWithPlugins({
    ...(MARKDOWN as object),
    name: 'API reference',
    entryPoints: MODULES.map((name) => join(root, 'packages', sourceOf(name))),
    tsconfig: join(root, 'docs/site/tsconfig.reference.json'),
    plugin: ['typedoc-plugin-markdown'],
    // TypeScript 7 has judged the types; TypeScript 6 runs out of its stack over some of them.
    skipErrorChecking: true,
    disableSources: true,
    readme: 'none',
    excludeInternal: true,
    excludePrivate: true,
    logLevel: 'Warn',
  });
  const project = await app.convert();
  if (project === undefined) throw new Error('TypeDoc could not read the packages');
  const modules = project.children ?? [];
  for (const module of modules) module.name = module.name.replace(/\/src(?=\/|$)/, '');
  // If two packages have one name, it stands for that of the first.
  const sorted = MODULES.flatMap((name) => modules.filter((module) => module.name === name));
  return {
    options: sorted.flatMap((module) => (module.children ?? []).flatMap(optionsOf)),
    symbols: sorted.flatMap((module) => (module.children ?? []).map((child) => symbolOf(module.name, child))),
    write: async (folder) => {
      await app.outputs.writeOutput({ name: 'markdown', path: folder }, project);
      describeModules(root, join(folder, 'index.md'));
    },
  };
}

/** Writes a sentence for each module into the list of modules. Throws if TypeDoc's list has another form. */
function describeModules(root: string, file: string): void {
  let text = readFileSync(file, 'utf8');
  for (const module of MODULES) {
    const row = `| [${module}](${module}/index.md) | - |`;
    if (!text.includes(row)) throw new Error(`${file} has no row ${row}`);
    text = text.replace(row, () => `| [${module}](${module}/index.md) | ${descriptionOf(root, module)} |`);
  }
  writeFileSync(file, text);
}

function symbolOf(module: string, { name, kind }: DeclarationReflection): PublicSymbol {
  const folder = PAGE_OF_KIND.get(kind);
  const place = folder === undefined ? `/#${name.toLowerCase()}` : `/${folder}/${name}`;
  return { name, isFunction: kind === ReflectionKind.Function, address: `reference/${module}${place}` };
}

function optionsOf({ name: owner, children = [] }: DeclarationReflection): { owner: string; name: string }[] {
  return /Options$|^ViewDocumentation$/.test(owner) ? children.map(({ name }) => ({ owner, name })) : [];
}
