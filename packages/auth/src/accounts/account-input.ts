import {
  type EntityManager,
  type EntityMetadata,
  type EntityName,
  ForeignKeyConstraintViolationException,
  UniqueConstraintViolationException,
} from '@mikro-orm/core';
import { ImproperlyConfigured, ParseError, QuerySet, TargetObjectAlreadyExist, type WriteShape } from '@viewset/core';
import type { TObject } from 'typebox';
import type { AccountModel } from './account-contract.ts';
import { isTakenValue } from './taken-value.ts';

/** A write shape of the account. */
export type WrittenFields = Pick<WriteShape<object, object>, 'bind'>;

type BoundShape = ReturnType<WrittenFields['bind']>;

/** The fields that users may write of their own accounts. */
export class AccountInput {
  readonly #shape: BoundShape;
  readonly #meta: EntityMetadata;

  /**
   * @param option the plugin's option that has the shape, for messages
   * @param taken the fields that the body already has
   * @throws ImproperlyConfigured for properties that this package manages, and for files and children, which need a
   * view
   */
  constructor(
    option: string,
    shape: WrittenFields,
    { meta, names }: AccountModel,
    allowed: readonly (keyof AccountModel['names'])[] = [],
    taken: readonly string[] = [],
  ) {
    this.#meta = meta as EntityMetadata;
    const refuse = (problem: string): ImproperlyConfigured =>
      new ImproperlyConfigured(`auth: option "${option}" ${problem}`);
    const isShape = typeof (shape as Partial<typeof shape> | null)?.bind === 'function';
    if (!isShape) throw refuse('must be a writeShape() of the account');
    this.#shape = shape.bind(this.#meta);
    const reserved = new Set(Object.values(names));
    for (const property of allowed) reserved.delete(names[property]);
    const wrong = this.#shape.fields.find(({ name }) => reserved.has(name));
    if (wrong !== undefined) throw refuse(`cannot have "${wrong.name}", which only the package writes`);
    const double = this.#shape.fields.find(({ sentAs }) => taken.includes(sentAs));
    if (double !== undefined) {
      throw refuse(`cannot send "${double.name}" as "${double.sentAs}", which a registration has by itself`);
    }
    const special = this.#shape.fields.find(({ file, children }) => file !== undefined || children !== undefined);
    if (special !== undefined) throw refuse(`cannot have "${special.name}": files and children need a view`);
  }

  /** The schema of a body, for documents. */
  documented(mode: 'create' | 'change'): TObject {
    return this.#shape.documented(mode).json;
  }

  /** Throws InvalidUsage with a detail for every wrong field, and ParseError without a body. */
  read(body: unknown, mode: 'create' | 'change'): object {
    if (body === undefined) throw new ParseError('A JSON body is required');
    return this.#shape.validate(body, mode);
  }

  /** Replaces references with entities. Throws InvalidUsage if a referenced record does not exist. */
  async resolve(em: EntityManager, data: object): Promise<object> {
    const [resolved] = await this.#shape.resolveReferences(em, [{ data, path: '' }], ({ target }, condition) =>
      QuerySet.of(em, target.class as EntityName<object>)
        .where(condition)
        .entities(),
    );
    return resolved!;
  }

  /** Makes the 409 for a value that another account has; returns other errors unchanged. */
  conflictOf(error: unknown, data: object): unknown {
    if (error instanceof ForeignKeyConstraintViolationException) {
      return new TargetObjectAlreadyExist('The account refers to a record that is gone', { cause: error });
    }
    if (!(error instanceof UniqueConstraintViolationException)) return error;
    const taken = this.#shape.fields.filter(({ name }) => {
      return name in data && isTakenValue(error, this.#meta.properties[name as never] ?? {});
    });
    const details = taken.map(({ path }) => ({ in: 'body', path, message: 'is taken' }) as const);
    return new TargetObjectAlreadyExist('Another account has this value already', { details, cause: error });
  }
}
