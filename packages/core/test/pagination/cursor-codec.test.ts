import t from 'tap';
import { ImproperlyConfigured } from '../../src/errors/errors.ts';
import { CursorCodec, type Cursor } from '../../src/pagination/cursor-codec.ts';

const SECRET = 'a secret of thirty-two bytes ...';
const codec = new CursorCodec('View', SECRET);
const cursor: Cursor = {
  backwards: false,
  position: ['Té', '12345678901234567890.123456', 0.1, null, true, 7, Infinity, -Infinity, NaN],
};

t.test('a cursor comes back exactly as it was sealed', async (t) => {
  t.same(codec.open('basis', codec.seal('basis', cursor)), cursor);
  t.same(codec.open('basis', codec.seal('basis', { backwards: true, position: null })), {
    backwards: true,
    position: null,
  });
});

t.test('a cursor shows nothing of its place, not even how long its texts are', async (t) => {
  const sealed = (...position: string[]) =>
    Buffer.from(codec.seal('basis', { backwards: false, position }), 'base64url');
  const seals = [sealed('secret'), sealed('secret'), sealed('s')];
  t.notOk(seals.some((bytes) => bytes.includes('secret')));
  t.equal(new Set(seals.map((bytes) => bytes.toString('hex').slice(0, 24))).size, 3, 'each has a start of its own');
  t.equal(new Set(seals.map(({ length }) => length)).size, 1);
});

t.test('a cursor is plain in a URL', async (t) => {
  t.match(codec.seal('basis', cursor), /^[A-Za-z0-9_-]+$/);
});

t.test('a cursor that was altered anywhere is refused', async (t) => {
  const text = codec.seal('basis', cursor);
  for (let index = 0; index < text.length; index++) {
    const other = text[index] === 'A' ? 'B' : 'A';
    const altered = `${text.slice(0, index)}${other}${text.slice(index + 1)}`;
    if (codec.open('basis', altered) !== undefined) t.fail(`altered at ${index}`);
  }
  for (let length = 0; length < text.length; length++) {
    if (codec.open('basis', text.slice(0, length)) !== undefined) t.fail(`cut after ${length}`);
  }
  for (const altered of [
    `${text}A`,
    `${text}=`,
    ` ${text}`,
    `${text}\n`,
    text.replace(/.$/, '$&$&'),
    `${text}${text}`,
  ]) {
    t.equal(codec.open('basis', altered), undefined);
  }
});

t.test('the last character has bits to spare, and they are not free to choose', async (t) => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (const position of [[1], [12], [123]]) {
    const text = codec.seal('basis', { backwards: false, position });
    const taken = Array.from(alphabet).filter((last) => codec.open('basis', text.slice(0, -1) + last) !== undefined);
    t.same(taken, [text.at(-1)]);
  }
});

t.test('a cursor of another basis or another secret is refused', async (t) => {
  const text = codec.seal('basis', cursor);
  t.equal(codec.open('other', text), undefined);
  t.equal(codec.open('', text), undefined);
  t.equal(new CursorCodec('View', `${SECRET}!`).open('basis', text), undefined);
  t.equal(codec.open('basis', new CursorCodec('View', `${SECRET}!`).seal('basis', cursor)), undefined);
});

t.test('a text that is not a cursor is rejected', async (t) => {
  for (const text of ['', 'x', 'null', '..', '%00', 'é', 'A'.repeat(43), 'A'.repeat(44), 'A'.repeat(10_000)]) {
    t.equal(codec.open('basis', text), undefined, text.slice(0, 50));
  }
});

t.test('a secret of fewer than 32 bytes is rejected, and the message shows how to set one', async (t) => {
  t.throws(() => new CursorCodec('View', undefined), ImproperlyConfigured);
  t.throws(() => new CursorCodec('View', ''), { message: /View: .*at least 32 bytes.*app\.register\(viewset/ });
  t.throws(() => new CursorCodec('View', 'x'.repeat(31)), { message: /31 bytes/ });
  t.throws(() => new CursorCodec('View', new Uint8Array(31)), ImproperlyConfigured);
  t.doesNotThrow(() => new CursorCodec('View', 'é'.repeat(16)), 'bytes count, not characters');
  t.doesNotThrow(() => new CursorCodec('View', new Uint8Array(32)));
});
