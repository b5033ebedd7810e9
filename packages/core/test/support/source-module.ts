import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Comment, type Directive, type Statement, Visitor, parseSync } from 'oxc-parser';

export interface ModuleImport {
  readonly specifier: string;
  readonly isType: boolean;
  readonly line: number;
}

export interface ReExport {
  readonly name: string;
  readonly specifier: string;
}

/** What one source file says to the modules around it. */
export interface SourceModule {
  /** From the source folder: `query/queryset.ts`. */
  readonly path: string;
  readonly imports: readonly ModuleImport[];
  readonly reExports: readonly ReExport[];
  /** The modules of `export *`. */
  readonly starExports: readonly string[];
  /** The lines of statements that are neither imports nor exports from elsewhere. */
  readonly otherStatements: readonly number[];
  /** The names that the file declares and exports, each with its docstring, if it has one. */
  readonly declared: ReadonlyMap<string, string | undefined>;
  /** Each name that the code of the file has anywhere: of variables, types, properties, methods. */
  readonly identifiers: ReadonlySet<string>;
}

/** Every TypeScript file under a folder, read. */
export function readModules(folder: URL): SourceModule[] {
  const root = fileURLToPath(folder);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return files.toSorted().map((file) => readModule(file, readFileSync(join(root, file), 'utf8')));
}

/** The file of the same source folder that a relative import names. */
export function resolveImport(from: SourceModule, specifier: string): string {
  return relative('.', join(dirname(from.path), specifier));
}

function readModule(path: string, source: string): SourceModule {
  const { program, comments, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors.map((error) => error.message).join('; ')}`);
  const lineOf = (offset: number): number => source.slice(0, offset).split('\n').length;
  const imports: ModuleImport[] = [];
  const add = (specifier: string, isType: boolean, offset: number): void => {
    imports.push({ specifier, isType, line: lineOf(offset) });
  };
  const reExports: ReExport[] = [];
  const starExports: string[] = [];
  const identifiers = new Set<string>();
  new Visitor({
    Identifier: (node) => void identifiers.add(node.name),
    ImportDeclaration: (node) => add(node.source.value, node.importKind === 'type', node.start),
    ImportExpression: (node) => add(literal(node.source, path), false, node.start),
    TSImportType: (node) => add(node.source.value, true, node.start),
    ExportAllDeclaration: (node) => {
      add(node.source.value, node.exportKind === 'type', node.start);
      starExports.push(node.source.value);
    },
    ExportNamedDeclaration: (node) => {
      if (node.source === null) return;
      add(node.source.value, node.exportKind === 'type', node.start);
      for (const { exported } of node.specifiers) {
        reExports.push({ name: 'name' in exported ? exported.name : exported.value, specifier: node.source.value });
      }
    },
  }).visit(program);
  const own = program.body.filter(
    (node) => !/^Import|^ExportAll/.test(node.type) && !('source' in node && node.source),
  );
  const declared = new Map<string, string | undefined>();
  for (const [name, text] of program.body.flatMap((node) => declarations(node, docstring(node, source, comments)))) {
    // The docstring of a function with overloads stands on the first of them.
    declared.set(name, declared.get(name) ?? text);
  }
  return {
    path,
    imports,
    reExports,
    starExports,
    otherStatements: own.map((node) => lineOf(node.start)),
    declared,
    identifiers,
  };
}

function literal(node: { type: string }, path: string): string {
  if ('value' in node && typeof node.value === 'string') return node.value;
  throw new Error(`${path}: an import() of something that is not a literal`);
}

/** The names that a statement declares and exports. */
function declarations(node: Directive | Statement, doc: string | undefined): [string, string | undefined][] {
  if (node.type !== 'ExportNamedDeclaration' || node.declaration === null) return [];
  const { declaration } = node;
  if (declaration.type === 'VariableDeclaration') {
    const names = declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? id.name : []));
    return names.map((name) => [name, doc]);
  }
  return 'id' in declaration && declaration.id?.type === 'Identifier' ? [[declaration.id.name, doc]] : [];
}

/** The comment that ends right before a statement. */
function docstring(node: Directive | Statement, source: string, comments: readonly Comment[]): string | undefined {
  const last = comments.findLast((comment) => comment.end <= node.start);
  if (last?.type !== 'Block' || !last.value.startsWith('*')) return undefined;
  return source.slice(last.end, node.start).trim() === '' ? last.value : undefined;
}
