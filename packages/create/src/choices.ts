/** The databases that an application can have. */
export const DATABASES = ['sqlite', 'postgresql', 'mongodb'] as const;
export type Database = (typeof DATABASES)[number];

/** The programs that can install its packages. */
export const PACKAGE_MANAGERS = ['npm', 'pnpm', 'bun'] as const;
export type PackageManager = (typeof PACKAGE_MANAGERS)[number];

/** The parts that an application has or does not have, with the words about them. */
export const PARTS = {
  accounts: 'Accounts: registration, login, permissions',
  explorer: 'Explorer: a page to look at the API in a browser',
  tests: 'Tests',
  container: 'Container: a Dockerfile',
  ci: 'CI: a workflow for GitHub',
} as const;
export type Part = keyof typeof PARTS;
export const PART_NAMES = Object.keys(PARTS) as Part[];

/** Everything that is decided about a new application. */
export interface Choices {
  /** The folder to make. */
  readonly folder: string;
  readonly database: Database;
  readonly parts: readonly Part[];
  readonly packageManager: PackageManager;
  /** True to install the packages at once. */
  readonly install: boolean;
  /** A folder with the tarballs of the packages of Viewset; undefined: they come from the registry. */
  readonly packages: string | undefined;
}

/** The choices that the command line has made. */
export type GivenChoices = { readonly [Name in keyof Choices]?: Choices[Name] | undefined } & {
  /** The parts that the command line has chosen, or has left out. */
  readonly chosen: Partial<Readonly<Record<Part, boolean>>>;
};

/** Makes the choices that nobody made by their defaults. */
export function withDefaults(given: GivenChoices): Choices {
  return {
    folder: given.folder ?? 'library',
    database: given.database ?? 'sqlite',
    parts: given.parts ?? PART_NAMES.filter((part) => given.chosen[part] ?? true),
    packageManager: given.packageManager ?? 'npm',
    install: given.install ?? true,
    packages: given.packages,
  };
}
