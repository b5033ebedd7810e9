import type { Configuration, MikroORM, Platform, Type } from '@mikro-orm/core';

/** A column, as MikroORM reads it from the database, or derives it from an entity. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly mappedType: Pick<Type<unknown>, 'getColumnType'>;
  readonly nullable?: boolean;
  readonly primary?: boolean;
  readonly generated?: string;
  readonly length?: number;
  readonly precision?: number;
  readonly scale?: number;
  readonly enumItems?: string[];
  readonly ignoreSchemaChanges?: readonly string[];
}

/** An index, as MikroORM reads it from the database, or derives it from an entity. */
export interface TableIndex {
  readonly columnNames: string[];
  readonly unique: boolean;
  readonly primary: boolean;
  readonly expression?: unknown;
}

/** A table of MikroORM's SQL packages, whose types core does not import. */
export interface SchemaTable {
  readonly name: string;
  readonly schema?: string | undefined;
  getColumns(): TableColumn[];
  getColumn(name: string): TableColumn | undefined;
  getIndexes(): TableIndex[];
}

/** The tables of a database, or of the entities. */
export interface TableSchema {
  getTables(): SchemaTable[];
  getTable(name: string): SchemaTable | undefined;
  getNamespaces(): string[];
}

/** The class of `TableSchema`. */
export interface TableSchemaClass {
  create(
    connection: unknown,
    platform: unknown,
    config: Configuration,
    schemaName: string | undefined,
    schemas: string[],
    takeTables: string[],
  ): Promise<TableSchema>;
}

/** MikroORM's schema generator of SQL databases. */
export interface TableGenerator {
  getTargetSchema(): TableSchema;
}

/** Columns that the database and an entity describe differently. */
export interface ColumnDifference {
  readonly table: string;
  /** One column, or all columns of a unique constraint. */
  readonly columns: readonly string[];
  /** `is text`. */
  readonly actual: string;
  /** `declares integer`. */
  readonly declared: string;
}

/**
 * Compares the type, the length, the nullability and the values of enums of each column with the entities, and finds the
 * columns that only the entities declare unique. Reads the
 * tables of the entities alone, and changes nothing. MikroORM's own `getUpdateSchemaSQL()` creates a missing database,
 * and compares indexes and defaults too.
 */
export async function columnDifferences(orm: MikroORM): Promise<ColumnDifference[]> {
  const { em, config } = orm;
  const target = (orm.schema as unknown as TableGenerator).getTargetSchema();
  const schemas = target.constructor as unknown as TableSchemaClass;
  const tables = target.getTables();
  const names = tables.map(({ name }) => name);
  const platform = em.getPlatform();
  const connection = em.getDriver().getConnection();
  const found = await schemas.create(connection, platform, config, undefined, target.getNamespaces(), names);
  return tables.flatMap((table) => {
    const there = found.getTables().find(({ name, schema }) => name === table.name && isSame(schema, table, platform));
    return there === undefined ? [] : [...differencesOf(there, table, platform), ...missingUniques(there, table)];
  });
}

function isSame(schema: string | undefined, table: SchemaTable, platform: Platform): boolean {
  const ofDefault = platform.getDefaultSchemaName();
  return (schema ?? ofDefault) === (table.schema ?? ofDefault);
}

function differencesOf(actual: SchemaTable, declared: SchemaTable, platform: Platform): ColumnDifference[] {
  return declared.getColumns().flatMap((column) => {
    const there = actual.getColumn(column.name);
    if (there === undefined || there.generated !== undefined || column.generated !== undefined) return [];
    const place = { table: declared.name, columns: [column.name] };
    const [type, expected] = [typeOf(there, platform), typeOf(column, platform)];
    if (type !== expected && column.ignoreSchemaChanges?.includes('type') !== true) {
      return { ...place, actual: `is ${type}`, declared: `declares ${expected}` };
    }
    if (accepts(there) !== undefined && accepts(column) !== undefined && accepts(there) !== accepts(column)) {
      return { ...place, actual: `accepts only ${accepts(there)}`, declared: `declares ${accepts(column)}` };
    }
    // SQLite lets the key of a table be null on paper.
    if (column.primary === true || isNullable(there) === isNullable(column)) return [];
    return isNullable(column)
      ? { ...place, actual: 'is NOT NULL', declared: 'allows null' }
      : { ...place, actual: 'allows NULL', declared: 'does not' };
  });
}

/** Lists unique constraints that an entity declares. Columns are also unique together if some of them are unique. */
function missingUniques(actual: SchemaTable, declared: SchemaTable): ColumnDifference[] {
  const keys = uniqueKeys(actual);
  return uniqueKeys(declared)
    .filter((columns) => !keys.some((key) => key.every((column) => columns.includes(column))))
    .map((columns) => ({
      table: declared.name,
      columns,
      actual: columns.length === 1 ? 'is not unique' : 'are not unique together',
      declared: 'declares a unique constraint',
    }));
}

/** Returns the columns of each unique index, without those on expressions. */
function uniqueKeys(table: SchemaTable): readonly (readonly string[])[] {
  const plain = table.getIndexes().filter(({ unique, primary, expression }) => (unique || primary) && !expression);
  return plain.map(({ columnNames }) => columnNames).filter((columns) => columns.length > 0);
}

function isNullable({ nullable }: TableColumn): boolean {
  return nullable === true;
}

/** Returns the type of a column in the spelling in which MikroORM compares two. */
function typeOf(column: TableColumn, platform: Platform): string {
  const [, length] = /\w+\((\d+)\)/.exec(column.type) ?? [];
  const [, precision, scale] = /\w+\((\d+), ?(\d+)\)/.exec(column.type) ?? [];
  const property = {
    ...column,
    autoincrement: false,
    fieldNames: [column.name],
    columnTypes: [column.type],
    items: column.enumItems,
    length: length === undefined ? column.length : Number(length),
    precision: precision === undefined ? column.precision : Number(precision),
    scale: scale === undefined ? column.scale : Number(scale),
  };
  const type = column.mappedType.getColumnType(property as never, platform).toLowerCase();
  return platform.normalizeColumnType(type, property as never);
}

/** Lists the values of an enum in one order. Undefined if the column accepts others too. */
function accepts({ enumItems = [] }: TableColumn): string | undefined {
  return enumItems.length === 0
    ? undefined
    : enumItems
        .map((item) => `"${item}"`)
        .toSorted()
        .join(', ');
}
