import type { RoleFields } from './account-contract.ts';

/**
 * Who is logged in, as `request.user` has it: the account and its role, read afresh for each request (frozen and reused
 * for so long with `userCacheSeconds`), without the password and apart from any unit of work. Where a query or a new
 * record needs the account, give it `user.id`.
 *
 * Tell the types about it once in the application; with a `retrieveUser` of your own, name what that answers with.
 *
 * @example
 * declare module '@viewset/core' {
 *   interface ViewsetTypes { user: AccountUser }
 * }
 */
export class AccountUser {
  readonly id: number;
  readonly email: string;
  readonly name: string;
  /** Always true: a disabled account is nobody. */
  readonly is_active: boolean;
  readonly role: Readonly<RoleFields> | null;

  constructor({ id, email, name, is_active, role }: AccountUser) {
    this.id = id;
    this.email = email;
    this.name = name;
    this.is_active = is_active;
    this.role = role;
  }
}
