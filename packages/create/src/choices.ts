/** The databases that an application can have. */
export const DATABASES = ['sqlite', 'postgresql', 'mongodb'] as const;
export type Database = (typeof DATABASES)[number];

/** The programs that can install the application's packages. */
export const PACKAGE_MANAGERS = ['npm', 'pnpm', 'bun'] as const;
export type PackageManager = (typeof PACKAGE_MANAGERS)[number];

/** The optional parts of an application, with their descriptions. */
export const PARTS = {
  accounts: 'Accounts: registration, login, permissions',
  explorer: 'Explorer: a page to look at the API in a browser',
  tests: 'Tests',
  container: 'Container: a Dockerfile',
  ci: 'CI: a workflow for GitHub',
} as const;
export type Part = keyof typeof PARTS;
export const PART_NAMES = Object.keys(PARTS) as Part[];

/** All decisions about a new application. */
export interface Choices {
  /** The folder to create. */
  readonly folder: string;
  readonly database: Database;
  readonly parts: readonly Part[];
  readonly packageManager: PackageManager;
  /** True to install the packages at once. */
  readonly install: boolean;
  /** A folder with tarballs of Viewset's packages; undefined: install them from the registry. */
  readonly packages: string | undefined;
}

/** The choices from the command line. */
export type GivenChoices = { readonly [Name in keyof Choices]?: Choices[Name] | undefined } & {
  /** The parts that the command line includes or excludes. */
  readonly chosen: Partial<Readonly<Record<Part, boolean>>>;
};

/** Fills in defaults for missing choices. */
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
