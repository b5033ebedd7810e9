import { createPublicKey } from 'node:crypto';
import { ImproperlyConfigured } from '@viewset/core';
import t from 'tap';
import { checkKeys, checkSecrets } from '../src/tokens/signing-keys.ts';
import { makeKeys } from './support/keys.ts';

const rsa = makeKeys({ type: 'rsa', bits: 2048 });
const p256 = makeKeys({ type: 'ec', curve: 'P-256' });
const ed25519 = makeKeys({ type: 'ed25519' });

t.test('a secret has at least 32 bytes, and is never repeated in the error', async (t) => {
  t.strictSame(checkSecrets('secret', 'é'.repeat(16)), ['é'.repeat(16)]);
  for (const secret of [
    's3cret',
    'x'.repeat(31),
    '',
    undefined,
    null,
    7,
    [],
    ['x'.repeat(32), 's3cret'],
    [['x'.repeat(32)]],
  ]) {
    t.throws(() => checkSecrets('secret', secret), ImproperlyConfigured);
  }
  try {
    checkSecrets('secret', 's3cret');
  } catch (error) {
    t.match((error as Error).message, /option "secret" must have at least 32 bytes, but has 6/);
    t.notMatch((error as Error).message, /s3cret/);
  }
});

t.test('keys are a pair of the kind and strength that the algorithm needs', async (t) => {
  t.match(checkKeys('RS256', rsa), [{ signing: rsa.private, verifying: rsa.public }]);
  t.match(checkKeys('ES256', p256), [{ signing: p256.private, verifying: p256.public }]);
  t.match(checkKeys('EdDSA', ed25519), [{ signing: ed25519.private, verifying: ed25519.public }]);
  const other = makeKeys({ type: 'ed25519' });
  for (const [algorithm, keys, message] of [
    ['RS256', undefined, /must be \{ private, public \} in PEM/],
    ['RS256', p256, /RSA keys of at least 2048 bits/],
    ['RS256', makeKeys({ type: 'rsa', bits: 1024 }), /2048 bits/],
    ['RS256', { private: 'x', public: 'y' }, /cannot be read/],
    ['ES256', makeKeys({ type: 'ec', curve: 'P-384' }), /P-256/],
    ['ES256', ed25519, /P-256/],
    ['EdDSA', rsa, /Ed25519/],
    ['EdDSA', { private: ed25519.private, public: other.public }, /"keys" must be a pair/],
    ['EdDSA', [], /at least one pair/],
    ['EdDSA', [{ public: ed25519.public }], /"keys\[0\]" must be \{ private, public \}/],
    ['EdDSA', [ed25519, { private: ed25519.private, public: other.public }], /"keys\[1\]" must be a pair/],
    ['EdDSA', [ed25519, { public: rsa.public }], /"keys\[1\]" must be Ed25519/],
  ] as const) {
    t.throws(() => checkKeys(algorithm, keys), { name: 'ImproperlyConfigured', message });
  }
});

t.test('the name of a key is its thumbprint (RFC 7638, RFC 8037), and its JWK has no private part', async (t) => {
  // The example of RFC 8037, appendix A.3.
  const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const example = { public: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
  const [, key] = checkKeys('EdDSA', [ed25519, example]);
  t.equal(key?.id, 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
  t.strictSame(key?.jwk, { kty: 'OKP', crv: 'Ed25519', x, kid: key?.id, alg: 'EdDSA', use: 'sig' });
  for (const [algorithm, pair] of [
    ['RS256', rsa],
    ['ES256', p256],
    ['EdDSA', ed25519],
  ] as const) {
    const [own] = checkKeys(algorithm, { private: pair.private, public: pair.private });
    t.notMatch(Object.keys(own?.jwk ?? {}).join(' '), /\b(?:d|p|q|dp|dq|qi)\b/);
  }
});
