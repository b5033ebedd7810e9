/** What must compile, and what must not: the assertions are the compiler's, over this file. */
import { defineEntity, EntitySchema, p } from '@mikro-orm/core';
import { type CurrentUser, getCurrentUser, readShape } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  type AccountSchema,
  type AccountUser,
  AccountViewSet,
  type AuthOptions,
  type EmailSender,
  RoleViewSet,
  type UserOf,
} from '../src/index.ts';
import './support/app.ts';
import { Account, PermissionRole } from './support/entities.ts';

const mailer: EmailSender = { send: async () => {} };
export const good: AuthOptions = { account: Account, secret: 'x', mailer };
// @ts-expect-error: no entity
export const noAccount: AuthOptions = { secret: 'x', mailer };
// @ts-expect-error: no mailer, so that no code ends in a log by accident
export const noMailer: AuthOptions = { account: Account, secret: 'x' };
export const noMail: AuthOptions = { account: Account, secret: 'x', routes: ['login', 'me'] };
// @ts-expect-error: a route that sends mail, and no mailer
export const mailRoute: AuthOptions = { account: Account, secret: 'x', routes: ['login', 'forgot-password'] };
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
const Named = defineEntity({
  name: 'Named',
  properties: { id: p.integer().primary(), username: p.string(), mail: p.string().unique() },
});
export const named: AuthOptions = { account: Named, fields: { name: 'username', email: 'mail' }, secret: 'x', mailer };
// @ts-expect-error: names of its own without the option that tells them
export const unnamed: AuthOptions = { account: Named, secret: 'x', mailer };
// @ts-expect-error: a misspelt field
export const misspeltField: AuthOptions = { account: Named, fields: { nam: 'username' }, secret: 'x', mailer };
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

const read = readShape(Account, ['id', 'created_at'], { role: 'role.name', boss: 'role.name' });
const options: AuthOptions = { account: Account, me: { read }, secret: 'x', mailer };
export function whatUsersShow(user: UserOf<typeof read>): readonly unknown[] {
  const role: string | undefined = user.role?.name;
  const created: string = user.created_at;
  // @ts-expect-error: the shape has no such field
  void user.last_login;
  return [role, created, user.boss, user.email, options];
}

type Sent<View extends { readonly '~declared'?: { readonly outputs: { readonly list: object } } }> = NonNullable<
  View['~declared']
>['outputs']['list'];
const Several = defineEntity({
  name: 'Several',
  properties: { ...properties, role: () => p.manyToOne(PermissionRole), roles: () => p.manyToMany(PermissionRole) },
});
class Accounts extends AccountViewSet(Several, { roles: true }) {}
class People extends AccountViewSet(Account, { read: readShape(Account, ['id', 'created_at']) }) {}
class Roles extends RoleViewSet(PermissionRole, { permissions: ['a', 'b'] }) {}
// @ts-expect-error: no field of the account
export const misspeltSearch = AccountViewSet(Account, { searchFields: ['nmae'] });
export const noRoles = (): unknown =>
  // @ts-expect-error: the account has one role alone
  AccountViewSet(Account, { roles: true });
export function readyViews(
  account: Sent<typeof Accounts>,
  person: Sent<typeof People>,
  role: Sent<typeof Roles>,
): readonly unknown[] {
  const names: readonly string[] = account.roles;
  const permissions: readonly ('a' | 'b')[] | null = role.permissions;
  const created: string = person.created_at;
  // @ts-expect-error: the application's shape takes the place of the view's own
  void person.email;
  return [names, permissions, created, account.role?.length];
}

t.pass('this file compiles');
