import type { Test } from 'tap';
import { isError, isNoFault } from './support/expect.ts';
import type { Page } from './support/records.ts';
import { ADMIN, type Shop, withShop } from './support/shop.ts';

const deep = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth);

/** JSON values on the wire that have crashed some server. */
const NASTY_JSON = {
  null: 'null',
  true: 'true',
  zero: '0',
  'minus zero': '-0',
  'a fraction': '0.1',
  overflow: '1e400',
  underflow: '1e-400',
  'more than a safe integer': '9007199254740993',
  'more than an int8': '9223372036854775808',
  'many digits': '9'.repeat(400),
  'many decimals': `0.${'1'.repeat(400)}`,
  'empty text': '""',
  NUL: '"\\u0000"',
  'NUL inside': '"a\\u0000b"',
  'a lone high surrogate': '"\\ud800"',
  'a lone low surrogate': '"\\udfff"',
  'surrogates the wrong way round': '"\\udc00\\ud800"',
  'a noncharacter': '"\\uffff"',
  'direction marks': '"\\u202e\\u2066"',
  'very long text': JSON.stringify('x'.repeat(200_000)),
  'many combining marks': JSON.stringify(`e${'\u0301'.repeat(5000)}`),
  SQL: `"'; drop table product; --"`,
  'a template': '"${7*7}{{7*7}}<%= 7*7 %>"',
  'a format string': '"%s%n%d%x"',
  'a proto key': '"__proto__"',
  'an empty list': '[]',
  'a list of null': '[null]',
  'a list of text': '["a"]',
  'a huge list': `[${'0,'.repeat(50_000)}0]`,
  'a deep list': deep('[', ']', 5000),
  'an empty object': '{}',
  'an operator': '{"$gt":""}',
  'raw SQL': '{"__raw":true,"sql":"1=1"}',
  proto: '{"__proto__":{"admin":true}}',
  constructor: '{"constructor":{"prototype":{"admin":true}}}',
  toJSON: '{"toJSON":1,"then":1,"valueOf":1,"toString":1}',
  'a deep object': `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
};

/** Texts of query parameters and paths, percent-encoded as they are sent. */
const NASTY_TEXT = {
  NUL: '%00',
  'NUL at the end': 'a%00',
  'an overlong NUL': '%c0%80',
  'invalid UTF-8': '%ff%fe',
  'half a sequence': '%e2%82',
  'a surrogate in UTF-8': '%ed%a0%80',
  'a lone percent sign': '%',
  'bad hex': '%zz',
  'twice encoded': '%2500%2527',
  'CR LF': '%0d%0aX-Injected:%201',
  quotes: '%27%22%60%5c',
  SQL: '1%27%20or%20%271%27%3d%271',
  wildcards: '%25_%25%5c%25',
  'a regular expression': '(a%2b)%2b$%5b%5e',
  operators: '%5b$gt%5d%3d1',
  JSON: '%7b%22a%22:1%7d',
  'a huge number': '9'.repeat(500),
  'a negative number': '-1',
  overflow: '1e400',
  Infinity: 'Infinity',
  'very long text': 'x'.repeat(7000),
  'many words': 'a+'.repeat(1000),
  'many commas': ','.repeat(2000),
  'many quotes': '%22'.repeat(1000),
  emoji: '%F0%9F%92%A9',
  'a noncharacter': '%EF%BF%BF',
  'a proto key': '__proto__',
  dots: '..%2f..%2fetc%2fpasswd',
};

withShop({}, async (t, shop) => {
  const token = await shop.login();
  await shop.register('target@example.com');

  await t.test('body fields', (t) => bodies(t, shop, token));
  await t.test('complete bodies', (t) => wholes(t, shop, token));
  await t.test('query parameters', (t) => queries(t, shop, token));
  await t.test('paths', async (t) => {
    for (const [name, text] of Object.entries(NASTY_TEXT)) {
      for (const path of [
        '/api/products/',
        '/api/roles/',
        '/api/accounts/',
        '/api/products/1/',
        '/api/',
        '/',
        '/health/',
      ]) {
        const answer = await shop.raw(
          `GET ${path}${text} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
        );
        isNoFault(t, answer, `${path}<${name}>`);
        if (answer !== undefined && answer.status < 400) t.fail(`${path}<${name}> is nothing that exists`);
      }
    }
  });
  await t.test('requests that are hardly HTTP', (t) => oddRequests(t, shop, token));
  await t.test('the shop is as it was', async (t) => {
    t.equal((await shop.get<Page<unknown>>('/api/products/search?q=Oak', { token })).body.count, 10);
    t.equal((await shop.get<Page<unknown>>('/api/accounts', { token })).body.count, 2);
    t.equal((await shop.get<Page<unknown>>('/api/roles', { token })).body.results.length >= 2, true);
    t.equal((await shop.get<{ status: string }>('/health/')).body.status, 'ok');
  });
});

async function bodies(t: Test, shop: Shop, token: string): Promise<void> {
  const targets: [method: string, path: string, fields: Record<string, string>][] = [
    ['POST', '/api/products', { name: '"A"', price: '1', stock: '1' }],
    ['PUT', '/api/products/50', { name: '"A"', price: '1', stock: '1' }],
    ['PATCH', '/api/products/50', { name: '"A"', price: '1', stock: '1' }],
    ['POST', '/api/roles', { name: '"A"', description: '"A"' }],
    ['PATCH', '/api/accounts/2', { name: '"A"', email: '"a@example.com"', is_active: 'true', role: '"admin"' }],
    ['POST', '/api/auth/login', { email: `"${ADMIN.email}"`, password: '"x"' }],
    ['POST', '/api/auth/register', { email: '"a@example.com"', password: '"password"', name: '"A"', code: '"123456"' }],
    ['POST', '/api/auth/send-verification-email', { email: '"nasty@example.com"' }],
  ];
  for (const [method, path, fields] of targets) {
    for (const field of Object.keys(fields)) {
      for (const [name, literal] of Object.entries(NASTY_JSON)) {
        const json = Object.entries({ ...fields, [field]: literal }).map(([key, value]) => `"${key}":${value}`);
        const answer = await shop.request(method, path, { token, body: `{${json.join(',')}}` });
        isNoFault(t, answer, `${method} ${path} ${field}: ${name}`);
      }
    }
  }
}

async function wholes(t: Test, shop: Shop, token: string): Promise<void> {
  const bodies = {
    ...NASTY_JSON,
    'a key twice': '{"name":"A","price":1,"price":"x"}',
    'a key that is NUL': '{"\\u0000":1,"name":"A","price":1}',
    'a key that is a lone surrogate': '{"\\ud800":1,"name":"A","price":1}',
    'many keys': `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join(',')}}`,
    'the same key many times': `{${'"__proto__":{},'.repeat(5000)}"name":"A","price":1}`,
    'a byte order mark': '\ufeff{"name":"A","price":1}',
    'white space': ' \n\t',
    'a comment': '{"name":"A"/* */,"price":1}',
    'two documents': '{"name":"A","price":1}{}',
    'no UTF-8': Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
    'UTF-16': Buffer.from('{"name":"A"}', 'utf16le'),
    bytes: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
    gzip: Buffer.from('1f8b0800000000000003', 'hex'),
  };
  for (const path of [
    '/api/products',
    '/api/roles',
    '/api/auth/login',
    '/api/auth/register',
    '/api/auth/send-verification-email',
  ]) {
    for (const [name, body] of Object.entries(bodies)) {
      isNoFault(t, await shop.request('POST', path, { token, body }), `POST ${path}: ${name}`);
    }
    for (const encoding of ['gzip', 'br', 'deflate', 'x', 'identity']) {
      const answer = await shop.request('POST', path, { token, body: '{}', headers: { 'content-encoding': encoding } });
      isNoFault(t, answer, `POST ${path}: content encoding ${encoding}`);
    }
  }
  isNoFault(t, await shop.request('DELETE', '/api/products/999999', { token, body: '{"a":1}' }), 'DELETE with a body');
  isNoFault(t, await shop.request('DELETE', '/api/products/999999', { token, body: '{' }), 'DELETE with a bad body');
}

async function queries(t: Test, shop: Shop, token: string): Promise<void> {
  const lists: Record<string, string[]> = {
    '/api/products': ['page', 'page_size', 'search', 'sort', 'filter', 'name', 'min_price', 'max_price', 'min_stock'],
    '/api/products/search': ['q'],
    '/api/roles': ['page', 'page_size', 'search', 'sort'],
    '/api/accounts': ['page', 'page_size', 'search', 'sort'],
  };
  for (const [path, names] of Object.entries(lists)) {
    for (const parameter of names) {
      for (const [name, text] of Object.entries(NASTY_TEXT)) {
        const authorization = `Authorization: Bearer ${token}`;
        const answer = await shop.raw(
          `GET ${path}?${parameter}=${text} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${authorization}\r\n\r\n`,
        );
        isNoFault(t, answer, `${path}?${parameter}=<${name}>`);
      }
    }
    for (const [name, text] of Object.entries(NASTY_TEXT)) {
      const answer = await shop.raw(
        `GET ${path}?${text}=1&${text} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      );
      isNoFault(t, answer, `${path}?<${name}>=1`);
    }
  }
  for (const query of [
    '?',
    '??',
    '?&',
    '?=',
    '?=1',
    '?a',
    '?page=1?page=2',
    '?page=1;page_size=2',
    '?page[]=1',
    '?page[a]=1',
    '?page=1#x',
    `?${'a=1&'.repeat(1500)}`,
  ]) {
    const answer = await shop.raw(`GET /api/products${query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    isNoFault(t, answer, `/api/products${query.slice(0, 30)}`);
  }
  for (const logic of Object.values(NASTY_JSON).filter((literal) => literal.length < 3000)) {
    for (const filter of [
      logic,
      `{"==":[{"var":"stock"},${logic}]}`,
      `{"in":[{"var":"name"},${logic}]}`,
      `{"in":[${logic},{"var":"name"}]}`,
      `{"<":[${logic},{"var":"price"},${logic}]}`,
      `{"!":${logic}}`,
      `{"and":${logic}}`,
      `{"==":[{"var":${logic}},1]}`,
    ]) {
      isNoFault(
        t,
        await shop.get(`/api/products?filter=${encodeURIComponent(filter)}`),
        `filter=${filter.slice(0, 60)}`,
      );
    }
  }
}

async function oddRequests(t: Test, shop: Shop, token: string): Promise<void> {
  const authorization = `Authorization: Bearer ${token}`;
  const login = JSON.stringify(ADMIN);
  const requests: Record<string, string> = {
    'HTTP/1.0': 'GET /api/products HTTP/1.0\r\n\r\n',
    'an absolute URL': 'GET http://evil.example/api/products HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    'an absolute URL to what needs a token':
      'GET http://evil.example/api/roles HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    'an asterisk': 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    'a CONNECT': 'CONNECT example.com:80 HTTP/1.1\r\nHost: x\r\n\r\n',
    'a path without a slash': 'GET api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    'two slashes': 'GET //api/products HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    dots: `GET /api/products/../roles HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    'encoded dots': `GET /api/products/%2e%2e/roles HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    'a semicolon': `GET /api/products;x=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    'a GET with a body': `GET /api/products HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{`,
    'an Expect': `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: a-miracle\r\nContent-Type: application/json\r\nContent-Length: ${login.length}\r\n\r\n${login}`,
    'an Upgrade': 'GET /api/products HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    'a short body':
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}garbage',
    chunks: `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${login.length.toString(16)}\r\n${login}\r\n0\r\n\r\n`,
    'odd accepts': `GET /api/roles HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${authorization}\r\nAccept: image/png\r\nAccept-Encoding: x\r\nAccept-Language: \xff\r\nAccept-Version: 9\r\nRange: bytes=0-1\r\nIf-None-Match: *\r\n\r\n`,
    'many headers': `GET /api/products HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${'X: y\r\n'.repeat(1500)}\r\n`,
    'an empty host': 'GET /api/products HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n',
    'a bad host': 'GET /api/products HTTP/1.1\r\nHost: %00<>"\r\nConnection: close\r\n\r\n',
  };
  for (const [name, bytes] of Object.entries(requests)) {
    const answer = await shop.raw(bytes);
    if (answer !== undefined) isNoFault(t, answer, name);
    else t.ok(['a CONNECT'].includes(name), `${name}: the connection is closed without an answer`);
  }
  isError(t, await shop.raw(requests['an absolute URL to what needs a token']!), 'unauthorized', 'an absolute URL');
}
