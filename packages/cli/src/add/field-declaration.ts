import { Mistake } from '../mistake.ts';

/** The properties of a field type. */
interface FieldType {
  /** The builder of its column, without modifiers. */
  readonly builder: string;
  /** True if lists can be ordered by it, so that it needs an index. */
  readonly isOrdered: boolean;
  /** True if `?search=` searches it. */
  readonly isSearched: boolean;
  /** A value for the test, as TypeScript code. */
  readonly sample: string;
}

const TYPES = {
  string: { builder: 'p.string().length(200)', isOrdered: true, isSearched: true, sample: "'A text'" },
  text: { builder: 'p.text()', isOrdered: false, isSearched: true, sample: "'A long text'" },
  integer: { builder: 'p.integer()', isOrdered: true, isSearched: false, sample: '1' },
  decimal: {
    builder: "p.decimal('number').precision(10).scale(2)",
    isOrdered: true,
    isSearched: false,
    sample: '4.5',
  },
  boolean: { builder: 'p.boolean()', isOrdered: false, isSearched: false, sample: 'true' },
  date: { builder: 'p.date()', isOrdered: true, isSearched: false, sample: "'2026-01-31'" },
  datetime: { builder: 'p.datetime()', isOrdered: true, isSearched: false, sample: "'2026-01-31T12:00:00.000Z'" },
  uuid: {
    builder: 'p.uuid()',
    isOrdered: false,
    isSearched: false,
    sample: "'0190a6f0-5a5c-7000-8000-000000000000'",
  },
} as const satisfies Record<string, FieldType>;

/** The field types that the command line accepts. */
export const TYPE_NAMES = [...Object.keys(TYPES), 'ref'];

/** A field of a new resource. */
export interface FieldDeclaration {
  readonly name: string;
  readonly isOrdered: boolean;
  readonly isSearched: boolean;
  /** The expression that declares its column. */
  readonly column: string;
  /** The entity that it refers to; undefined if it is not a reference. */
  readonly target: string | undefined;
  /**
   * A value for the test, as TypeScript code. For a reference, it is the name of the variable that holds the record.
   */
  readonly sample: string;
}

/**
 * Parses a field such as `title:string`, `isbn:string:unique`, `pages:integer?`, `author:ref` or `editor:ref?:Author`.
 *
 * @throws Mistake for an invalid name, and for an unknown type or modifier
 */
export function readField(text: string): FieldDeclaration {
  const [name = '', typeText = '', ...words] = text.split(':');
  if (!/^[a-z][A-Za-z0-9_]*$/.test(name)) {
    throw new Mistake(`"${text}": the name of a field begins with a lower case letter, as in title:string`);
  }
  if (name === 'id') throw new Mistake(`"${text}": each resource has an id already`);
  const isNullable = typeText.endsWith('?');
  const typeName = isNullable ? typeText.slice(0, -1) : typeText;
  if (typeName === 'ref') return readReference(text, name, isNullable, words);
  const type: FieldType | undefined = Object.hasOwn(TYPES, typeName)
    ? TYPES[typeName as keyof typeof TYPES]
    : undefined;
  if (type === undefined) {
    throw new Mistake(`"${text}": the type must be one of ${TYPE_NAMES.join(', ')}, but got "${typeName}"`);
  }
  const other = words.find((word) => word !== 'unique');
  if (other !== undefined) throw new Mistake(`"${text}": only "unique" may follow the type, but got "${other}"`);
  const isUnique = words.length > 0;
  const index = type.isOrdered && !isUnique ? '.index()' : '';
  const column = `${type.builder}${isNullable ? '.nullable()' : ''}${isUnique ? '.unique()' : index}`;
  const { isOrdered, isSearched, sample } = type;
  return { name, isOrdered, isSearched, column, target: undefined, sample };
}

function readReference(text: string, name: string, isNullable: boolean, words: readonly string[]): FieldDeclaration {
  const [target = `${name[0]!.toUpperCase()}${name.slice(1)}`, ...others] = words;
  if (others.length > 0 || !/^[A-Z]\w*$/.test(target)) {
    throw new Mistake(`"${text}": a reference names at most its entity, as in author:ref or editor:ref:Author`);
  }
  const column = `() => p.manyToOne(${target})${isNullable ? '.nullable()' : ''}.index()`;
  return {
    name,
    isOrdered: false,
    isSearched: false,
    column,
    target,
    sample: `${name}.id`,
  };
}
