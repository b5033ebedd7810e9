import type { EntityManager, EntityMetadata, EntityName } from '@mikro-orm/core';
import { type Projection, QuerySet, type ReadShape, readShape, RecordFinder } from '@viewset/core';
import type { AccountModel } from './account-contract.ts';
import {
  type AccountRow,
  type AccountUser,
  furtherRoles,
  type RoleRow,
  type ShownFields,
  userFields,
  userOf,
} from './accounts.ts';

/** A record of an account, such as a session, together with the account and its role, as one row; times as ISO texts. */
export interface OwnedRow extends AccountRow {
  /** The application's fields of the account, and its further roles. */
  readonly account?: { readonly further_roles?: readonly RoleRow[] };
}

/** The entity of records that belong to an account by `account`. */
export interface OwnedModel<Entity extends object> {
  readonly entity: EntityName<Entity>;
  readonly meta: EntityMetadata<Entity>;
}

/** Reads records of active accounts, each with its account, in one query. */
export class OwnedRecords<Entity extends object> {
  /** The records of active accounts. */
  readonly ofActiveAccounts: QuerySet<Entity>;
  readonly #model: OwnedModel<Entity>;
  readonly #account: AccountModel;
  readonly #em: EntityManager;
  readonly #shown: ReadShape<object, object> | undefined;

  /**
   * @param em the ORM's global entity manager
   * @param shown additional fields of users, beside those of AccountUser
   */
  constructor(model: OwnedModel<Entity>, account: AccountModel, em: EntityManager, shown: ShownFields | undefined) {
    this.#model = model;
    this.#account = account;
    this.#em = em;
    const further = furtherRoles(account);
    const selected = shown as ReadShape<object, object> | undefined;
    this.#shown = selected === undefined || further === undefined ? (selected ?? further) : selected.extend(further);
    const active = { [`account__${account.names.is_active}`]: true };
    this.ofActiveAccounts = QuerySet.of(em, model.entity).filter(active as never);
  }

  /** Makes rows of these fields of the record, and of its account. */
  projection<Row extends OwnedRow>(fields: readonly (keyof Row & string)[]): Projection<Row> {
    const columns = Object.fromEntries(fields.map((name) => [name, name]));
    const ofAccount = userFields(this.#account, 'account.');
    const shown = { ...columns, ...ofAccount, ...(this.#shown && { account: this.#shown }) };
    const shape = readShape(this.#model.entity, [], shown as never) as unknown as ReadShape<Entity, Row>;
    return shape.bind(this.#model.meta, this.#em.getPlatform());
  }

  finder<Row extends OwnedRow>(projection: Projection<Row>): RecordFinder<Entity, Row> {
    return new RecordFinder(this.ofActiveAccounts, projection);
  }
}

/** The user that a record belongs to. */
export function ownerOf(row: OwnedRow): AccountUser {
  const { further_roles, ...shown } = row.account ?? {};
  return userOf(further_roles === undefined ? row : { ...row, further_roles }, shown);
}
