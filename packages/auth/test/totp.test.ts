import t from 'tap';
import { isTotpCode, totpStepOf } from '../src/two-factors/totp.ts';

/** The secret of RFC 6238, appendix B. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

t.test('a code belongs to the step before, of, or after now', async (t) => {
  // The code of 59 s in appendix B, in six digits.
  for (const [now, step] of [
    [0, 1],
    [59_000, 1],
    [89_999, 1],
    [90_000, undefined],
  ] as const) {
    t.equal(totpStepOf(SECRET, '287082', now, null), step, String(now));
  }
  t.equal(totpStepOf(SECRET, '287082', 59_000, 0), 1);
  t.equal(totpStepOf(SECRET, '287082', 59_000, 1), undefined, 'used');
  t.notOk(isTotpCode('28708'));
});

t.test('two steps with the same code are told apart by the last one that was used', async (t) => {
  const first = 59_061_240;
  const now = (first + 1) * 30_000;
  t.equal(totpStepOf(SECRET, '963181', now, null), first);
  t.equal(totpStepOf(SECRET, '963181', now, first), first + 1, 'the fresh code of the next step');
  t.equal(totpStepOf(SECRET, '963181', now, first + 1), undefined);
});
