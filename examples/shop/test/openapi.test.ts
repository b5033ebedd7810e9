import { openShop, withShop } from './support/shop.ts';

interface Header {
  readonly description?: string;
}

interface Answer {
  readonly headers?: Readonly<Record<string, Header>>;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

withShop({}, async (t, shop) => {
  const { status, body, headers } = await shop.get<Document>('/openapi.json');
  const { paths, components } = body;

  await t.test('the document needs no token, and is the same for every user', async (t) => {
    t.equal(status, 200);
    t.match(body, { openapi: /^3\.1/, info: { title: 'Shop' } });
    const again = await shop.get('/openapi.json', { token: await shop.login() });
    t.equal(again.headers.get('etag'), headers.get('etag'));
    t.equal((await fetch(`${shop.url}/openapi.yaml`)).status, 200);
  });

  await t.test('the document is the same in every process, byte for byte', async (t) => {
    const other = await openShop(t, { kind: shop.kind });
    for (const path of ['/openapi.json', '/openapi.yaml']) {
      const [one, two] = await Promise.all([shop, other].map(async ({ url }) => (await fetch(url + path)).text()));
      t.equal(one, two, path);
    }
  });

  await t.test('operations have their names', async (t) => {
    const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
    t.equal(new Set(ids).size, ids.length);
    for (const id of [
      'listProducts',
      'createProduct',
      'retrieveProduct',
      'replaceProduct',
      'updateProduct',
      'destroyProduct',
    ]) {
      t.ok(ids.includes(id), id);
    }
    for (const id of [
      'featuredProducts',
      'searchProducts',
      'listRoles',
      'replaceAccount',
      'login',
      'register',
      'checkHealth',
    ]) {
      t.ok(ids.includes(id), id);
    }
  });

  await t.test('security follows NON_AUTH_ENDPOINTS', async (t) => {
    t.strictSame(paths['/api/products']!['get']!.security, []);
    t.strictSame(paths['/api/products/{pk}']!['get']!.security, [{ bearerAuth: [] }]);
    t.strictSame(paths['/api/auth/login']!['post']!.security, []);
    t.strictSame(paths['/api/roles']!['get']!.security, [{ bearerAuth: [] }]);
  });

  await t.test('responses that set cookies document them', async (t) => {
    // Parts that are used twice are components.
    const resolve = (part: unknown): Answer & Header => {
      const { $ref } = (part ?? {}) as { $ref?: string };
      const names = $ref?.slice(2).split('/') ?? [];
      const inside = (all: unknown, name: string): unknown => (all as Readonly<Record<string, unknown>>)[name];
      return ($ref === undefined ? part : names.reduce(inside, body)) as never;
    };
    const cookieOf = (path: string, method: string, status: string): string | undefined => {
      const { headers: sent } = resolve(paths[`/api/auth/${path}`]![method]!.responses[status]);
      return resolve(sent?.['Set-Cookie'])?.description;
    };
    t.match(cookieOf('login', 'post', '200'), /identifies the browser.*with the refresh token/);
    t.match(cookieOf('login/two-factor', 'post', '200'), /identifies the browser/);
    t.match(cookieOf('refresh', 'post', '200'), /with the next refresh token/);
    for (const [path, method] of [
      ['logout', 'post'],
      ['logout-all', 'post'],
      ['sessions/{id}', 'delete'],
      ['me', 'delete'],
    ] as const) {
      t.match(cookieOf(path, method, '204'), /^Clears the cookie/, path);
    }
    t.match(cookieOf('confirm-email', 'post', '200'), /for the new address/);
    for (const path of ['register', 'forgot-password']) {
      const status = path === 'register' ? '201' : '200';
      t.equal(cookieOf(path, 'post', status), undefined, path);
    }
  });

  await t.test('schemas have their names', async (t) => {
    for (const name of ['Product', 'ProductInput', 'ProductPatch', 'ProductPage', 'Error', 'Account', 'RolePage']) {
      t.ok(Object.hasOwn(components.schemas, name), name);
    }
  });

  await t.test('a body that is documented as an object takes no other JSON value', async (t) => {
    const token = await shop.login();
    let tried = 0;
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { requestBody }] of Object.entries(methods)) {
        const schema = requestBody?.content['application/json']?.schema;
        const name = schema?.$ref?.split('/').at(-1);
        if ((name === undefined ? schema : components.schemas[name])?.type !== 'object') continue;
        for (const json of [null, [], 'text', 5, true]) {
          const to = path.replaceAll(/\{\w+\}/g, '1');
          const response = await shop.request(method.toUpperCase(), to, { token, json });
          const isRefused = response.status >= 400 && response.status < 500;
          t.ok(isRefused, `${method} ${path} with ${JSON.stringify(json)}: ${response.status}`);
          tried += 1;
        }
      }
    }
    t.ok(tried >= 100, `${tried} requests`);
  });

  await t.test('the root lists the collections, without a token', async (t) => {
    const root = await shop.get('/api');
    t.strictSame(root.body, { products: '/api/products', roles: '/api/roles', accounts: '/api/accounts' });
  });

  await t.test('the page needs no token, and has a separate policy', async (t) => {
    const page = await fetch(`${shop.url}/docs`);
    t.equal(page.status, 200);
    t.match(page.headers.get('content-security-policy'), /script-src 'self';/);
    t.equal((await fetch(`${shop.url}/docs/reference.js`)).status, 200);
  });
});
