import type { MikroORM } from '@mikro-orm/core';
import type { Store } from '@viewset/core';
import type { AccountModel } from './accounts/account-contract.ts';
import type { Accounts } from './accounts/accounts.ts';
import type { LoginWays } from './accounts/login-ways.ts';
import type { ResolvedAuthOptions } from './auth-options.ts';

/** The parts that the optional features of the plugin are made from. */
export interface Wiring {
  readonly orm: MikroORM;
  readonly model: AccountModel;
  readonly accounts: Accounts;
  readonly store: Store;
  readonly loginWays: LoginWays;
  readonly options: ResolvedAuthOptions;
}
