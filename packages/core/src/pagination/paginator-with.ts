import { checkOptions, type OptionRule } from '../errors/options.ts';
import type { Counting } from '../query/language/query.ts';
import { type MemberNames, PAGE_MEMBERS } from './page-names.ts';
import { TOTAL_HEADERS, type TotalHeader } from './total-header.ts';
import type { Paginator, PaginatorOptions } from './paginator.ts';

/**
 * The settings of a paginator made by `with()`: sizes, and new names of parameters and page members, by their default
 * names.
 */
export interface PaginatorSettings<Parameter extends string> {
  /** `{ limit: 'take', results: 'items', previous: null }`; null leaves a member of the page out. */
  readonly names?: MemberNames & { readonly [Name in Parameter]?: string };
  readonly pageSize?: number;
  readonly maxPageSize?: number;
  readonly links?: boolean;
}

/** The settings of a paginator that counts. */
export interface CountedSettings<Parameter extends string> extends PaginatorSettings<Parameter> {
  readonly count?: Counting;
  /** Sends the count in this header; a list is then an array of its records, without a page around it. */
  readonly totalHeader?: TotalHeader;
}

type NamesOf<Settings> = Settings extends { readonly names: infer Names } ? Names : Record<never, never>;

/** The fields of a paginator that hold the names of its parameters, by parameter. */
type FieldNames = Readonly<Record<string, string>>;

/** The class of a paginator with new names, which are part of its type. */
export type PaginatorWith<Made extends Paginator, Settings, Fields extends FieldNames> = new (
  options?: PaginatorOptions,
) => Made & {
  readonly [Parameter in keyof Fields & keyof NamesOf<Settings> as Fields[Parameter]]: NamesOf<Settings>[Parameter];
} & { readonly memberNames: NamesOf<Settings> } & (Settings extends { readonly count: infer Count }
    ? { readonly count: Count }
    : unknown) &
  (Settings extends { readonly totalHeader: infer Header extends string } ? { readonly totalHeader: Header } : unknown);

/** The rules of settings, by their names. */
type SettingRules<Settings> = Readonly<Record<keyof Settings, OptionRule>>;

/** The rules of `PaginatorSettings`. */
export const PAGINATOR_RULES: SettingRules<PaginatorSettings<never>> = {
  names: ['texts by name', (value) => typeof value === 'object' && value !== null],
  // The paginator checks the range.
  pageSize: ['a number', (value) => typeof value === 'number'],
  maxPageSize: ['a number', (value) => typeof value === 'number'],
  links: ['true or false', (value) => typeof value === 'boolean'],
};

/** The rules of `CountedSettings`. */
export const COUNTED_RULES: SettingRules<CountedSettings<never>> = {
  ...PAGINATOR_RULES,
  count: ['a text', (value) => typeof value === 'string'],
  totalHeader: [`one of ${TOTAL_HEADERS.join(', ')}`, (value) => TOTAL_HEADERS.includes(value as TotalHeader)],
};

const NAME: OptionRule = ['a non-empty string', (value) => typeof value === 'string' && value !== ''];
const MEMBER: OptionRule = ['a non-empty string, or null to leave it out', (value) => value === null || NAME[1](value)];

/**
 * Makes a class with the settings as its fields.
 *
 * @param fields the fields that hold the names of parameters
 * @param rules the rules of every setting that the paginator has
 * @throws ImproperlyConfigured for a name that the paginator does not have, and for an invalid name
 */
export function paginatorWith<Made extends Paginator>(
  Base: new (options?: PaginatorOptions) => Made,
  settings: PaginatorSettings<never>,
  fields: FieldNames,
  rules: SettingRules<PaginatorSettings<never>>,
): new (options?: PaginatorOptions) => Made {
  const owner = `${Base.name}.with()`;
  checkOptions(owner, settings, rules);
  const { names = {}, ...others } = settings;
  const ofParameters = Object.keys(fields).map((name) => [name, NAME] as const);
  const ofMembers = PAGE_MEMBERS.map((name) => [name, MEMBER] as const);
  const nameRules: Readonly<Record<string, OptionRule>> = Object.fromEntries([...ofMembers, ...ofParameters]);
  checkOptions(`${owner}: "names"`, names, nameRules);
  const parameters = Object.entries(names).flatMap(([name, value]) => {
    const field = fields[name];
    return field === undefined || value === undefined ? [] : [[field, value] as const];
  });
  const members = Object.entries(names).filter(([name]) => !Object.hasOwn(fields, name));
  const declared = { ...others, ...Object.fromEntries(parameters), memberNames: Object.fromEntries(members) };
  const given = Object.entries(declared).filter(([, value]) => value !== undefined);
  const Class = Base as new (options?: PaginatorOptions) => object;
  const Named = class extends Class {
    constructor(options?: PaginatorOptions) {
      super(options);
      Object.assign(this, Object.fromEntries(given));
    }
  };
  Object.defineProperty(Named, 'name', { value: Base.name });
  return Named as unknown as new (options?: PaginatorOptions) => Made;
}
