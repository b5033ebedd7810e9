/** Reads every import of the packages, and fails on one that runs against the layers that docs/architecture.md lists. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { privateNames } from './support/private-declarations.ts';
import { type SourceModule, readModules, resolveImport } from './support/source-module.ts';

const coreFolder = new URL('../src/', import.meta.url);
const core = readModules(coreFolder);
const auth = readModules(new URL('../../auth/src/', import.meta.url));
const outbox = readModules(new URL('../../outbox/src/', import.meta.url));
const telemetry = readModules(new URL('../../telemetry/src/', import.meta.url));
const mongodb = readModules(new URL('../../mongodb/src/', import.meta.url));
const cli = readModules(new URL('../../cli/src/', import.meta.url));
const fullText = readModules(new URL('../../full-text/src/', import.meta.url));
const idempotency = readModules(new URL('../../idempotency/src/', import.meta.url));
const batch = readModules(new URL('../../batch/src/', import.meta.url));
const mcp = readModules(new URL('../../mcp/src/', import.meta.url));
const history = readModules(new URL('../../history/src/', import.meta.url));
const live = readModules(new URL('../../live/src/', import.meta.url));
const testing = readModules(new URL('../../testing/src/', import.meta.url));
const every = [
  ...core,
  ...auth,
  ...outbox,
  ...telemetry,
  ...mongodb,
  ...cli,
  ...fullText,
  ...idempotency,
  ...batch,
  ...history,
  ...mcp,
  ...live,
  ...testing,
];
const storeys = documentedStoreys();
const rooms = storeys.flatMap((storey) => storey.rooms);

/** The entries of core: for applications, and for packages that bring a backend. */
const ENTRIES: readonly string[] = ['index.ts', 'backend.ts'];

/** The members that are not public and are used all the same, with the file of `mikro/` that uses each. */
const listed = listedMembers();

/** Names that MikroORM has for something private, and the framework for other things. */
const COMMON_NAMES = new Set(
  'compare counter defineProperties delete executeQuery inspect _meta normalize primaryKey register resolve restore running types value'.split(
    ' ',
  ),
);

/** The private parts of drivers, of Kysely and of Fastify (its symbols, and the files that it exports to nobody). */
const PRIVATE_ELSEWHERE =
  /^(?:getNativeClient|createQueryBuilder|executeQuery|savepoint|sqlFragments|secretKey|processID|totalCount|k(?:Avvio|Body|Children|Fourofour|Hooks|Log|Options|Reply|Request|Route|Schema|Server|State)\w*)$/;

/** Every driver is the application's: core takes what the user hands in. */
const DRIVERS = /^(@mikro-orm\/(?!core$)|(pg|better-sqlite3|libsql|mongodb|kysely|mysql2|sqlite3)($|\/))/;

t.test('docs/architecture.md lists the folders that there are', async (t) => {
  t.ok(storeys.length > 5 && core.flatMap(relativeImports).length > 50, 'the list and the imports can be read');
  const folders = new Set(core.map(({ path }) => folderOf(path)).filter((folder) => folder !== ''));
  t.strictSame([...folders].toSorted(), rooms.toSorted(), 'the folders of src that have files, to their full depth');
});

t.test('imports run downwards', async (t) => {
  const upwards = core.flatMap((module) =>
    relativeImports(module)
      .filter(({ path }) => rank(path) < rank(module.path))
      .map(({ path, line }) => `src/${module.path}:${line} imports ${path}, which is above it`),
  );
  t.strictSame(upwards, []);
});

t.test('rooms of one storey do not import each other in a circle, except on the ground floor', async (t) => {
  for (const storey of storeys.slice(0, -1)) {
    const importsOf = (room: string): string[] => [
      ...new Set(
        core
          .filter(({ path }) => folderOf(path) === room)
          .flatMap(relativeImports)
          .map(({ path }) => folderOf(path))
          .filter((other) => other !== room && storey.rooms.includes(other)),
      ),
    ];
    t.strictSame(circles(storey.rooms, importsOf), [], storey.name);
  }
});

t.test('features do not import each other', async (t) => {
  const crossing = core.flatMap((module) => {
    const room = folderOf(module.path);
    if (!/^features\/.+\//.test(room)) return [];
    const others = relativeImports(module).filter(
      ({ path }) => path.startsWith('features/') && folderOf(path) !== room,
    );
    return others.map(({ path, line }) => `src/${module.path}:${line} imports ${path}`);
  });
  t.strictSame(crossing, []);
});

t.test('index.ts imports every feature that declares an option, so that the published types have it', async (t) => {
  const declaring = core.filter(
    ({ path }) =>
      path.startsWith('features/') && readFileSync(new URL(path, coreFolder), 'utf8').includes('declare module'),
  );
  const index = core.find(({ path }) => path === 'index.ts')!;
  const imported = new Set(relativeImports(index).map(({ path }) => path));
  t.ok(declaring.length > 5, 'the declarations can be read');
  t.strictSame(
    declaring.map(({ path }) => path).filter((path) => !imported.has(path)),
    [],
  );
});

t.test('no module above backends/ imports a kind of database, except the file that selects the backend', async (t) => {
  const outside = core.filter(({ path }) => !path.startsWith('backends/'));
  const knowing = outside.filter((module) => relativeImports(module).some(({ path }) => /^backends\/.+\//.test(path)));
  t.strictSame(
    knowing.map(({ path }) => path),
    ['query/backend-of.ts'],
  );
});

t.test(
  'core names MongoDB in its health check, which takes any client, and in the cure for a missing extension',
  async (t) => {
    const prefixErrors = core.filter(({ identifiers }) => [...identifiers].some((name) => /mongo/i.test(name)));
    t.strictSame(
      prefixErrors.map(({ path }) => path),
      ['health/built-in-checks.ts', 'index.ts', 'query/backend-of.ts'],
    );
  },
);

t.test('no file imports itself, directly or indirectly', async (t) => {
  t.strictSame(cycles(core), [], 'in core');
  t.strictSame(cycles(auth), [], 'in auth');
  t.strictSame(cycles(outbox), [], 'in outbox');
  t.strictSame(cycles(telemetry), [], 'in telemetry');
  t.strictSame(cycles(mongodb), [], 'in mongodb');
  t.strictSame(cycles(cli), [], 'in cli');
  t.strictSame(cycles(fullText), [], 'in full-text');
  t.strictSame(cycles(idempotency), [], 'in idempotency');
  t.strictSame(cycles(batch), [], 'in batch');
  t.strictSame(cycles(live), [], 'in live');
  t.strictSame(cycles(mcp), [], 'in mcp');
  t.strictSame(cycles(history), [], 'in history');
  t.strictSame(cycles(testing), [], 'in testing');
});

t.test('core imports only packages that it declares, and no driver', async (t) => {
  const allowed = declaredPackages('../package.json');
  for (const { place, specifier, isType } of bareImports(core)) {
    const name = packageName(specifier);
    t.notMatch(specifier, DRIVERS, `${place}: ${specifier} is no driver`);
    if (!specifier.startsWith('node:')) t.ok(allowed.has(name), `${place}: ${name} is a dependency or a peer`);
    if (name === 'ioredis') t.ok(isType, `${place}: ioredis is optional, so only its types may be imported`);
  }
});

t.test('only mikro/ uses private names of MikroORM, and its README lists them', async (t) => {
  const hidden = privateNames(new URL('.', import.meta.resolve('@mikro-orm/core')));
  t.ok(hidden.size > 100 && hidden.has('connected') && hidden.has('applyFilters'), 'the declarations can be read');
  const used = [...core, ...auth, ...outbox].flatMap(({ path, identifiers }) =>
    [...identifiers].filter((name) => hidden.has(name) && !COMMON_NAMES.has(name)).map((name) => `${path}: ${name}`),
  );
  const places = new Set(
    listed.flatMap(({ file, owner, name }) => [`mikro/${file}: ${owner}`, `mikro/${file}: ${name}`]),
  );
  t.strictSame(
    used.filter((place) => !places.has(place)),
    [],
    'each that is used is listed',
  );
  const tests = readFileSync(new URL('mikro/private-names.test.ts', import.meta.url), 'utf8');
  const titles = [...tests.matchAll(/\bt\.test\(\s*(['"])(.*?)\1/g)].map(([, , title = '']) => title);
  for (const { file, name } of listed) {
    const module = core.find(({ path }) => path === `mikro/${file}`);
    t.ok(module?.identifiers.has(name), `mikro/${file} still uses ${name}`);
    t.ok(
      titles.some((title) => new RegExp(`\\b${name}\\b`).test(title)),
      `private-names.test.ts has a test of ${name}`,
    );
  }
});

t.test('only mikro/ uses private names of Kysely, of drivers and of Fastify', async (t) => {
  const outside = every.filter(({ path }) => !path.startsWith('mikro/'));
  const named = outside.flatMap(({ path, identifiers }) =>
    [...identifiers].filter((name) => PRIVATE_ELSEWHERE.test(name)).map((name) => `${path}: ${name}`),
  );
  t.strictSame(named, []);
  const inner = bareImports(every).filter(({ specifier }) => /^(?:fastify|kysely)\/./.test(specifier));
  t.strictSame(inner, [], 'no file of Fastify or Kysely is imported but their entry');
});

t.test('only mikro/ uses the properties with two underscores that MikroORM sets on entities', async (t) => {
  const outside = every.filter(({ path }) => !path.startsWith('mikro/'));
  const named = outside.flatMap(({ path, identifiers }) =>
    [...identifiers].filter((name) => /^__[a-z]/.test(name) && name !== '__proto__').map((name) => `${path}: ${name}`),
  );
  t.strictSame(named, []);
});

for (const [name, modules, doors] of [
  ['auth', auth, ['@viewset/core']],
  ['outbox', outbox, ['@viewset/core']],
  ['telemetry', telemetry, ['@viewset/core']],
  ['mongodb', mongodb, ['@viewset/core', '@viewset/core/backend']],
  ['cli', cli, ['@viewset/core']],
  ['full-text', fullText, ['@viewset/core']],
  ['idempotency', idempotency, ['@viewset/core']],
  ['batch', batch, ['@viewset/core']],
  ['live', live, ['@viewset/core']],
  ['mcp', mcp, ['@viewset/core']],
  ['history', history, ['@viewset/core']],
  ['testing', testing, ['@viewset/core', '@viewset/client', '@viewset/mongodb']],
] as const) {
  t.test(`${name} imports only public names of core`, async (t) => {
    const allowed = declaredPackages(`../../${name}/package.json`);
    for (const { place, specifier } of bareImports(modules)) {
      if (specifier.startsWith('node:')) continue;
      t.ok(allowed.has(packageName(specifier)), `${place}: ${specifier} is a dependency or a peer`);
      const isDoor = !specifier.startsWith('@viewset/') || (doors as readonly string[]).includes(specifier);
      t.ok(isDoor, `${place} takes a private door: ${specifier}`);
      // The test kit opens databases.
      if (name !== 'testing') t.notMatch(specifier, DRIVERS, `${place}: ${specifier} is no driver`);
    }
    const outside = modules.flatMap((module) => relativeImports(module).filter(({ path }) => path.startsWith('..')));
    t.strictSame(outside, [], 'no import leaves the package by its path');
  });
}

t.test('in the package mongodb, backend/ may import mikro/, but not the reverse', async (t) => {
  const upwards = mongodb.filter(
    (module) =>
      module.path.startsWith('mikro/') && relativeImports(module).some(({ path }) => path.startsWith('backend/')),
  );
  t.strictSame(
    upwards.map(({ path }) => path),
    [],
  );
});

for (const [name, modules, entries] of [
  ['core', core, ENTRIES],
  ['auth', auth, ['index.ts']],
  ['outbox', outbox, ['index.ts']],
  ['telemetry', telemetry, ['index.ts']],
  ['mongodb', mongodb, ['index.ts']],
  ['cli', cli, ['index.ts']],
  ['full-text', fullText, ['index.ts']],
  ['idempotency', idempotency, ['index.ts']],
  ['batch', batch, ['index.ts']],
  ['live', live, ['index.ts']],
  ['mcp', mcp, ['index.ts']],
  ['history', history, ['index.ts']],
] as const) {
  t.test(`${name}: ${entries.join(' and ')} name everything that is public`, async (t) => {
    const passingOn = modules.filter(({ reExports, starExports }) => reExports.length + starExports.length > 0);
    t.strictSame(
      passingOn.map(({ path }) => path),
      [...entries].toSorted(),
      'no other file passes exports on',
    );
    for (const entry of passingOn) {
      // The constants are a public entry of their own, and importable from the root too.
      const stars = name === 'core' && entry.path === 'index.ts' ? ['./http/status.ts'] : [];
      t.strictSame(entry.starExports, stars, 'no export * of anything inside');
      t.strictSame(entry.otherStatements, [], 'nothing but export … from');
      for (const { name: exported, specifier } of entry.reExports) {
        if (!specifier.startsWith('.')) {
          t.fail(`${exported} is a third party's: ${specifier}`);
          continue;
        }
        const target = modules.find(({ path }) => path === resolveImport(entry, specifier));
        t.ok(target?.declared.get(exported), `${exported} of ${specifier} has a docstring`);
      }
    }
  });
}

t.test('every name of core is exported by one entry point only', async (t) => {
  const names = core.filter(({ path }) => ENTRIES.includes(path)).flatMap(({ reExports }) => reExports);
  const twice = names.filter(({ name }, index) => names.findIndex((other) => other.name === name) < index);
  t.strictSame(twice, []);
});

/** A storey of the list in docs/architecture.md, with its folders. */
interface Storey {
  readonly name: string;
  /** Each with its whole path, `backends/sql/`. */
  readonly rooms: readonly string[];
}

/** The storeys of the list in docs/architecture.md, from the top down. */
function documentedStoreys(): Storey[] {
  const text = readFileSync(new URL('../../../docs/architecture.md', import.meta.url), 'utf8');
  const list = /^## Storeys.*?((?:^ {4}.*\n)+)/ms.exec(text)?.[1] ?? '';
  return list.split(/^ {4}(?=\S)/m).flatMap((storey) => {
    const [name = '', ...lines] = storey.split('\n');
    const folders = lines.flatMap((line) => /^ {8}((?:[\w-]+\/)+)/.exec(line)?.[1] ?? []);
    return folders.length === 0 ? [] : [{ name, rooms: folders }];
  });
}

function listedMembers(): { readonly file: string; readonly owner: string; readonly name: string }[] {
  const text = readFileSync(new URL('mikro/README.md', coreFolder), 'utf8');
  const rows = [...text.matchAll(/^\| `(?:(\w+)\.)?(\w+)` \| `([\w-]+\.ts)` \|/gm)];
  return rows.map(([, owner = '', name = '', file = '']) => ({ file, owner, name }));
}

/** The folder of a file with its whole path, `backends/sql/`; empty for a file of src itself. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

/** How far down a file stands: the entries above all, else the storey of its folder. */
function rank(path: string): number {
  if (ENTRIES.includes(path)) return -1;
  const room = folderOf(path);
  return storeys.findIndex(({ rooms: ofStorey }) => ofStorey.includes(room));
}

function relativeImports(module: SourceModule): { path: string; line: number }[] {
  const relative = module.imports.filter(({ specifier }) => specifier.startsWith('.'));
  return relative.map(({ specifier, line }) => ({ path: resolveImport(module, specifier), line }));
}

function bareImports(modules: readonly SourceModule[]): { place: string; specifier: string; isType: boolean }[] {
  return modules.flatMap((module) =>
    module.imports
      .filter(({ specifier }) => !specifier.startsWith('.'))
      .map(({ specifier, isType, line }) => ({ place: `src/${module.path}:${line}`, specifier, isType })),
  );
}

function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function declaredPackages(manifest: string): Set<string> {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(new URL(manifest, import.meta.url), 'utf8')) as {
    dependencies?: object;
    peerDependencies?: object;
  };
  return new Set([...Object.keys(dependencies ?? {}), ...Object.keys(peerDependencies ?? {})]);
}

/** Each way of imports that comes back to where it began, once. */
function cycles(modules: readonly SourceModule[]): string[] {
  const importsOf = new Map(modules.map((module) => [module.path, relativeImports(module).map(({ path }) => path)]));
  return circles([...importsOf.keys()], (path) => importsOf.get(path) ?? []);
}

/** Each way from one of these names to itself, once. */
function circles(names: readonly string[], nextOf: (name: string) => readonly string[]): string[] {
  const found = new Set<string>();
  const done = new Set<string>();
  const walk = (name: string, way: readonly string[]): void => {
    const seenAt = way.indexOf(name);
    if (seenAt !== -1) found.add([...way.slice(seenAt), name].join(' → '));
    if (seenAt !== -1 || done.has(name)) return;
    for (const next of nextOf(name)) walk(next, [...way, name]);
    done.add(name);
  };
  for (const name of names) walk(name, []);
  return [...found];
}
