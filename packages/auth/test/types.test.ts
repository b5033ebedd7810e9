/** What must compile, and what must not: the assertions are the compiler's, over this file. */
import { defineEntity, EntitySchema, p } from '@mikro-orm/core';
import { type CurrentUser, getCurrentUser } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import type { AccountSchema, AccountUser, AuthOptions, EmailSender } from '../src/index.ts';
import './support/app.ts';
import { Account } from './support/entities.ts';

const mailer: EmailSender = { send: async () => {} };
export const good: AuthOptions = { account: Account, secret: 'x', mailer };
// @ts-expect-error: no entity
export const noAccount: AuthOptions = { secret: 'x', mailer };
// @ts-expect-error: no mailer, so that no code ends in a log by accident
export const noMailer: AuthOptions = { account: Account, secret: 'x' };
// @ts-expect-error: a misspelt option
export const misspelt: AuthOptions = { account: Account, secert: 'x', mailer };
// @ts-expect-error: no algorithm of ours
export const algorithm: AuthOptions = { account: Account, algorithm: 'none', mailer };
// @ts-expect-error: a sender that answers too early
export const sender: AuthOptions = { account: Account, secret: 'x', mailer: { send: () => true } };

const properties = {
  id: p.integer().primary(),
  name: p.string(),
  email: p.string().unique(),
  password: p.string(),
  is_active: p.boolean().default(true),
};
const Nameless = defineEntity({ name: 'Nameless', properties: { ...properties, name: p.integer() } });
const { password: _password, ...others } = properties;
const Passwordless = defineEntity({ name: 'Passwordless', properties: others });
class ClassAccount {
  id!: number;
  name!: string;
  email!: string;
  password!: string;
  is_active = true;
  last_login?: Date;
}
export const accepted: AccountSchema[] = [
  Account,
  ClassAccount,
  new EntitySchema<ClassAccount>({ class: ClassAccount }),
];
// @ts-expect-error: the name of an account is a text
export const nameless: AccountSchema = Nameless;
// @ts-expect-error: an account has a password
export const passwordless: AccountSchema = Passwordless;

export function whoIs(request: FastifyRequest): string | undefined {
  const user: AccountUser | null = request.user;
  const same: CurrentUser | null = getCurrentUser(request);
  // @ts-expect-error: nobody may be logged in
  user.email.toLowerCase();
  // @ts-expect-error: the user has no password
  void same?.password;
  return user?.role?.name;
}

t.pass('this file compiles');
