import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';

/** The members of the built-in pages. */
export const PAGE_MEMBERS = ['results', 'count', 'next', 'previous', 'next_cursor', 'previous_cursor'] as const;
/** The default name of a member of a page. */
export type PageMember = (typeof PAGE_MEMBERS)[number];

/** New names for the members of a page, by their default names. null leaves a member out. */
export type MemberNames = { readonly [Member in PageMember]?: string | null };

/** The names that a view has for members of its pages. Members without a name are left out, except cursors. */
export interface PageMemberNames {
  readonly results: string;
  readonly count?: string | undefined;
}

/** Without these, a client could not request the next page. */
const LEADING: ReadonlySet<string> = new Set<PageMember>(['next_cursor', 'previous_cursor']);

/**
 * Renames the members of a view's pages. A paginator returns pages with the default names. The view's names take
 * precedence over the paginator's own.
 */
export class PageNames {
  /** True: a list is an array of its records, without a page around it. */
  readonly isArray: boolean;
  /** The renamed members of a page, by their default names. null: left out. */
  readonly changed: Readonly<Record<string, string | null>>;
  readonly #names = new Map<string, string | null>();
  readonly #isUsual: boolean;

  /** @throws ImproperlyConfigured if two members have the same name, and if the members of an array have names */
  constructor(owner: string, memberNames: MemberNames, ofView: PageMemberNames | undefined, isArray = false) {
    this.isArray = isArray;
    if (isArray) {
      checkNothingIsNamed(owner, memberNames, ofView);
      this.changed = {};
      this.#isUsual = true;
      return;
    }
    for (const member of PAGE_MEMBERS) {
      const unnamed = ofView === undefined || LEADING.has(member) ? member : null;
      const named = memberNames[member] === undefined ? unnamed : memberNames[member];
      const preferred = member === 'results' || member === 'count' ? ofView?.[member] : undefined;
      this.#names.set(member, preferred ?? named);
    }
    const changed = [...this.#names].filter(([member, name]) => member !== name);
    this.changed = Object.fromEntries(changed);
    this.#isUsual = changed.length === 0;
    const taken = [...this.#names.values()].filter((name) => name !== null);
    const twice = taken.find((name, index) => taken.indexOf(name) !== index);
    if (twice === undefined) return;
    throw new ImproperlyConfigured(`${owner}: two members of a page have the name "${twice}"`);
  }

  /**
   * Returns the name of a member; undefined if it is left out. A member that only the paginator knows keeps its name.
   */
  of(member: string): string | undefined {
    if (this.isArray) return undefined;
    const name = this.#names.get(member);
    return name === undefined ? member : (name ?? undefined);
  }

  /** Renames the members of a page, or returns only its records. */
  apply(page: object): object {
    if (this.isArray) return (page as { readonly results: object }).results;
    return this.#isUsual ? page : Object.fromEntries(this.#renamed(Object.entries(page)));
  }

  /** Renames the properties of a page's schema, or returns only the schema of its records. */
  applyToSchema(page: TSchema): TSchema {
    const { properties, required = [] } = page as Partial<Record<'properties', object>> & { required?: string[] };
    if (this.isArray) return (properties as { readonly results: TSchema }).results;
    if (this.#isUsual || properties === undefined) return page;
    return {
      ...page,
      properties: Object.fromEntries(this.#renamed(Object.entries(properties))),
      required: required.flatMap((member) => this.of(member) ?? []),
    };
  }

  #renamed(entries: readonly (readonly [member: string, value: unknown])[]): [name: string, value: unknown][] {
    return entries.flatMap(([member, value]) => {
      const name = this.of(member);
      return name === undefined ? [] : [[name, value] as [string, unknown]];
    });
  }
}

function checkNothingIsNamed(owner: string, memberNames: MemberNames, ofView: PageMemberNames | undefined): void {
  const [member] = Object.keys(memberNames);
  if (ofView === undefined && member === undefined) return;
  const where = ofView === undefined ? `"names" has "${member}"` : `the envelope has "many" (${ofView.results})`;
  throw new ImproperlyConfigured(
    `${owner}: with "totalHeader" a list is an array without members, but ${where}; remove one of the two`,
  );
}
