import type { EntityManager, EntityName } from '@mikro-orm/core';
import { inTransaction, QuerySet, TargetObjectAlreadyExist } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { isPasswordHash } from '../passwords/password-hasher.ts';
import type { Accounts } from './accounts.ts';

/** Records that let their account log in, such as passkeys. */
interface Way {
  readonly entity: EntityName<object>;
  /** Restricts the records to those that can log in. */
  readonly where?: object;
}

export interface LoginWaysParts {
  readonly accounts: Accounts;
  /** True if the route of logins by a password is on. */
  readonly hasPasswordLogin: boolean;
  /** True if a link in a mail logs in every account. */
  readonly hasLinkLogin: boolean;
  readonly ways: readonly Way[];
}

/** The ways in which an account can log in: the password, passkeys, logins by other services, and links. */
export class LoginWays {
  readonly #parts: LoginWaysParts;

  constructor(parts: LoginWaysParts) {
    this.#parts = parts;
  }

  /**
   * Removes a way of the logged-in user to log in, in a transaction. Returns the result of `remove`. Throws
   * TargetObjectAlreadyExist if no way would be left. Of simultaneous removals, whatever they remove, one waits for the
   * other.
   *
   * @param remove returns false if there was nothing to remove
   */
  remove(request: FastifyRequest, remove: (em: EntityManager, account: number) => Promise<boolean>): Promise<boolean> {
    return inTransaction(request, async () => {
      const { em } = request;
      const { id, password } = await this.#parts.accounts.lock(request);
      if (!(await remove(em, id))) return false;
      if (this.#parts.hasLinkLogin) return true;
      const hasPassword = this.#parts.hasPasswordLogin && isPasswordHash(password);
      if (!hasPassword && !(await this.#hasAny(em, id))) throw isLast();
      return true;
    });
  }

  async #hasAny(em: EntityManager, account: number): Promise<boolean> {
    for (const { entity, where = {} } of this.#parts.ways) {
      const records = QuerySet.of(em, entity).filter({ account__id: account, ...where });
      if (await records.exists()) return true;
    }
    return false;
  }
}

function isLast(): TargetObjectAlreadyExist {
  return new TargetObjectAlreadyExist('The account has no other way to log in; add one first');
}
