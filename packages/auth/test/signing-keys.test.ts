import { ImproperlyConfigured } from '@viewset/core';
import t from 'tap';
import { checkKeys, checkSecret } from '../src/tokens/signing-keys.ts';
import { makeKeys } from './support/keys.ts';

const rsa = makeKeys({ type: 'rsa', bits: 2048 });
const p256 = makeKeys({ type: 'ec', curve: 'P-256' });
const ed25519 = makeKeys({ type: 'ed25519' });

t.test('a secret has at least 32 bytes, and is never repeated in the error', async (t) => {
  t.equal(checkSecret('secret', 'é'.repeat(16)), 'é'.repeat(16));
  for (const secret of ['s3cret', 'x'.repeat(31), '', undefined, null, 7]) {
    t.throws(() => checkSecret('secret', secret), ImproperlyConfigured);
  }
  try {
    checkSecret('secret', 's3cret');
  } catch (error) {
    t.match((error as Error).message, /option "secret" must have at least 32 bytes, but has 6/);
    t.notMatch((error as Error).message, /s3cret/);
  }
});

t.test('keys are a pair of the kind and strength that the algorithm needs', async (t) => {
  t.equal(checkKeys('RS256', rsa), rsa);
  t.equal(checkKeys('ES256', p256), p256);
  t.equal(checkKeys('EdDSA', ed25519), ed25519);
  const other = makeKeys({ type: 'ed25519' });
  for (const [algorithm, keys, message] of [
    ['RS256', undefined, /must be \{ private, public \} in PEM/],
    ['RS256', p256, /RSA keys of at least 2048 bits/],
    ['RS256', makeKeys({ type: 'rsa', bits: 1024 }), /2048 bits/],
    ['RS256', { private: 'x', public: 'y' }, /cannot be read/],
    ['ES256', makeKeys({ type: 'ec', curve: 'P-384' }), /P-256/],
    ['ES256', ed25519, /P-256/],
    ['EdDSA', rsa, /Ed25519/],
    ['EdDSA', { private: ed25519.private, public: other.public }, /must be a pair/],
  ] as const) {
    t.throws(() => checkKeys(algorithm, keys), { name: 'ImproperlyConfigured', message });
  }
});
