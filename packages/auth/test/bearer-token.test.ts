import { Unauthorized } from '@viewset/core';
import t from 'tap';
import { bearerToken } from '../src/bearer-token.ts';

t.test('the scheme is read in any case, with any number of spaces behind it', async (t) => {
  for (const header of ['Bearer a.b.c', 'bearer a.b.c', 'BEARER    a.b.c', '  Bearer a.b.c  ']) {
    t.equal(bearerToken(header), 'a.b.c', header);
  }
});

t.test('no header, another scheme and the scheme alone are no token', async (t) => {
  for (const header of [undefined, '', 'Basic YTpi', 'Bearer', 'Bearer  ', 'BearerToken', 'a.b.c', 'Token Bearer x']) {
    t.equal(bearerToken(header), undefined, String(header));
  }
});

t.test('what is behind the scheme is one token or a 401', async (t) => {
  for (const header of ['Bearer a b', 'Bearer a,Bearer b', 'Bearer "a"', 'Bearer é', 'Bearer a\0', 'Bearer =']) {
    t.throws(() => bearerToken(header), Unauthorized, JSON.stringify(header));
  }
});
