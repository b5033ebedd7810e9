/** Bodies of the routes: no body that fits the documented schema is too large, and no path has two meanings. */
import { writeShape } from '@viewset/core';
import t from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { startApp } from '../support/app.ts';
import {
  Account,
  ApiKey,
  Identity,
  InvitedAccount,
  Passkey,
  PermissionRole,
  Role,
  Session,
  TwoFactor,
} from '../support/entities.ts';

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly pattern?: string;
}

/** Makes the longest value that a schema documents. */
function longest({ const: only, enum: values, anyOf, properties, items, ...text }: Schema): unknown {
  if (only !== undefined) return only;
  if (values !== undefined) return values.toSorted((one, other) => String(other).length - String(one).length)[0];
  if (anyOf !== undefined) return longest(anyOf[0]!);
  if (properties !== undefined) {
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, longest(field)]));
  }
  if (items !== undefined) return Array.from({ length: text.maxItems! }, () => longest(items));
  if (text.format === 'email') return `${'a'.repeat(text.maxLength! - 12)}@example.com`;
  if (text.pattern === '^[0-9]{6}$') return '000000';
  const isFree = text.pattern === undefined || text.pattern.startsWith('^[^');
  return (isFree ? '😀' : 'a').repeat(text.maxLength!);
}

/** Writes JSON as clients do that send only ASCII. */
function inAscii(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

t.test('no body that fits its documented schema is too large', async (t) => {
  const orm = await openSqlite(t, { entities: [InvitedAccount, PermissionRole] });
  const invitations = { url: 'https://example.com/#{token}' };
  const invited = await startApp(t, orm, { account: InvitedAccount, invitations, loginLink: invitations });
  t.equal(await tried(invited, ['login-link', 'accept-invitation']), 3);

  const entities = [Account, Role, Session, Passkey, TwoFactor, ApiKey];
  const plain = await startApp(t, await openSqlite(t, { entities }), {
    sessions: Session,
    passwords: {},
    me: { write: writeShape(Account, ['name']) },
    apiKeys: ApiKey,
    twoFactor: TwoFactor,
    passkeys: { entity: Passkey, rpName: 'Library', rpId: 'example.com' },
  });
  t.ok((await tried(plain)) >= 20);

  /** Sends the longest body to every route, and returns the number of routes. */
  async function tried(app: typeof plain, only?: readonly string[]): Promise<number> {
    const { id } = await app.addAccount('ann@example.com');
    const token = app.app.auth.issueToken({ id, email: 'ann@example.com', name: 'Ann', role: null });
    const headers = { authorization: `Bearer ${token}` };
    let count = 0;
    for (const { method, url, schema } of app.routes) {
      const { body } = (schema ?? {}) as { body?: Schema };
      if (body === undefined || (only !== undefined && !only.some((name) => url.includes(name)))) continue;
      const answer = await app.request(String(method), url.replace(/:\w+(\(.*\))?/, 'x'), {
        body: inAscii(longest(body)),
        headers,
      });
      t.not(answer.status, 413, `${String(method)} ${url}`);
      t.not(answer.status, 500, `${String(method)} ${url}`);
      count++;
    }
    return count;
  }
});

t.test('a path with a name is no record, by no method', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role, Passkey] });
  const app = await startApp(t, orm, { passkeys: { entity: Passkey, rpName: 'Library', rpId: 'example.com' } });
  const { id } = await app.addAccount('ann@example.com');
  const token = app.app.auth.issueToken({ id, email: 'ann@example.com', name: 'Ann', role: null });
  const headers = { authorization: `Bearer ${token}` };
  for (const path of ['/auth/passkeys/options', '/auth/passkeys/proof-options']) {
    const options = await app.request('OPTIONS', path);
    t.match([options.status, options.headers.get('allow')], [204, 'POST, OPTIONS'], path);
    const deleted = await app.request('DELETE', path, { headers, json: { password: 'x' } });
    t.match([deleted.status, deleted.headers.get('allow')], [405, 'POST, OPTIONS'], path);
  }
  for (const path of ['/auth/passkeys/options2', '/auth/passkeys/x']) {
    t.equal((await app.request('OPTIONS', path)).headers.get('allow'), 'DELETE, OPTIONS', path);
    t.equal((await app.request('DELETE', path, { headers, json: { password: 'correct horse' } })).status, 404, path);
  }
});

t.test('a route works without a body if it says so, and no other does', async (t) => {
  const entities = [Account, Role, Session, Passkey, TwoFactor, ApiKey, Identity];
  const company = { issuer: 'http://127.0.0.1:9', clientId: 'shop', clientSecret: 'a secret of the shop' };
  const app = await startApp(t, await openSqlite(t, { entities }), {
    sessions: Session,
    passwords: {},
    me: { write: writeShape(Account, ['name']) },
    apiKeys: ApiKey,
    twoFactor: TwoFactor,
    passkeys: { entity: Passkey, rpName: 'Library', rpId: 'example.com' },
    oauth: { identity: Identity, providers: { company } },
    loginLink: { url: 'https://example.com/#{token}' },
  });
  const { id } = await app.addAccount('ann@example.com');
  const token = app.app.auth.issueToken({ id, email: 'ann@example.com', name: 'Ann', role: null });
  const optional = new Set<string>();
  for (const { method, url, schema, config } of app.routes) {
    if (schema?.body === undefined) continue;
    const path = url.replace(/:provider/, 'company').replace(/:\w+(\(.*\))?/, 'x');
    const response = await app.request(String(method), path, { headers: { authorization: `Bearer ${token}` } });
    const isRequired = JSON.stringify(response.body ?? '').includes('A JSON body is required');
    const route = `${String(method)} ${url}`;
    t.equal(isRequired, config?.optionalBody !== true, route);
    if (!isRequired) optional.add(route);
  }
  t.strictSame([...optional].toSorted(), [
    'DELETE /auth/oauth/:provider/link',
    'POST /auth/logout',
    'POST /auth/logout-all',
    'POST /auth/oauth/:provider/link',
    'POST /auth/refresh',
    'POST /auth/two-factor',
  ]);
});
