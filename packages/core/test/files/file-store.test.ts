/** The one suite of every store: a local folder, and S3 by a server that speaks its protocol. */
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { Disk } from 'flydrive';
import { FSDriver } from 'flydrive/drivers/fs';
import { S3Driver } from 'flydrive/drivers/s3';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type FileStore, flydriveStore, type SignUpload, sweepUploads, type UploadStore } from '../../src/index.ts';

const s3Url = process.env['TEST_S3_URL'];
const skipS3 = s3Url === undefined && process.env['CI'] !== 'true' && 'S3 is NOT TESTED: TEST_S3_URL names no server';

t.test('a local folder', async (t) => {
  const location = await mkdtemp(join(tmpdir(), 'file-store-test-'));
  t.teardown(() => rm(location, { recursive: true }));
  const disk = new Disk(new FSDriver({ location, visibility: 'private' }));
  await behavesAsStore(t, flydriveStore(disk));
  const signUpload: SignUpload = (path) => ({ url: `http://localhost/${path}`, headers: { 'x-signed': 'yes' } });
  const store = flydriveStore(disk, { folder: 'tickets/', signUpload });
  await acceptsUploads(t, store, ({ url }, content) => disk.put(new URL(url).pathname.slice(1), content));
});

t.test('S3', { skip: skipS3 }, async (t) => {
  if (s3Url === undefined) throw new Error('TEST_S3_URL is not set, and under CI S3 has to be tried');
  const bucket = `test-${randomUUID()}`;
  const client = new S3Client({
    endpoint: s3Url,
    region: 'eu-central-1',
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  t.teardown(() => client.destroy());
  await client.send(
    new CreateBucketCommand({ Bucket: bucket, CreateBucketConfiguration: { LocationConstraint: 'eu-central-1' } }),
  );
  const disk = new Disk(new S3Driver({ client, bucket, visibility: 'private', supportsACL: false }));
  await behavesAsStore(t, flydriveStore(disk, { folder: 'tickets/' }));
  const signUpload: SignUpload = (Key, { size, type }, expiresIn) => {
    const command = new PutObjectCommand({ Bucket: bucket, Key, ContentLength: size, ContentType: type });
    return getSignedUrl(client, command, { expiresIn, signableHeaders: new Set(['content-length', 'content-type']) });
  };
  const store = flydriveStore(disk, { folder: 'tickets/', signUpload });
  const { url } = await store.uploads!.sign('a', { size: 3, type: 'image/png' }, 60);
  const { pathname, searchParams } = new URL(url);
  t.equal(pathname, `/${bucket}/tickets/uploads/a`);
  t.equal(searchParams.get('X-Amz-SignedHeaders'), 'content-length;content-type;host', 'size and type are signed');
  t.equal(searchParams.get('X-Amz-Expires'), '60');
  t.notMatch(url, /checksum/i, 'no checksum of an empty body');
  await disk.put('tickets/uploads-of-others/x', 'x');
  await acceptsUploads(t, store, async (signed, content) => {
    const answer = await fetch(signed.url, { method: 'PUT', body: content, headers: { 'content-type': 'image/png' } });
    t.equal(answer.status, 200, await answer.text());
  });
});

async function behavesAsStore(t: Test, store: FileStore): Promise<void> {
  const content = randomBytes(300_000);
  const facts = { size: content.length, type: 'application/octet-stream' };
  const key = randomUUID();
  await store.put(key, Readable.from(chunksOf(content)), facts);
  t.strictSame(await buffer(await store.get(key)), content, 'what was stored is read');
  for (const [start, end] of [
    [0, 0],
    [0, 99_999],
    [65_530, 65_540],
    [299_999, 299_999],
    [100_000, 299_999],
  ] as const) {
    const part = await buffer(await store.get(key, { start, end }));
    t.strictSame(part, content.subarray(start, end + 1), `bytes ${start} to ${end}`);
  }
  await t.rejects(store.get(randomUUID()), 'a key that is not there cannot be read');
  await store.delete(randomUUID());
  await store.delete(key);
  await t.rejects(store.get(key), 'what was deleted is gone');
  const broken = Readable.from(brokenChunks(content));
  await t.rejects(store.put(randomUUID(), broken, facts), 'a stream that breaks is no file');
}

async function acceptsUploads(
  t: Test,
  store: FileStore,
  put: (signed: { readonly url: string }, content: string) => Promise<void>,
): Promise<void> {
  const uploads = store.uploads!;
  const expired = `1000-${randomUUID()}`;
  const young = `${Math.floor(Date.now() / 1000) + 60}-${randomUUID()}`;
  for (const key of [expired, young]) await put(await uploads.sign(key, { size: 5, type: 'image/png' }, 60), 'hello');
  const file = randomUUID();
  t.equal(await uploads.copy(randomUUID(), file), undefined, 'an upload that is not there is not copied');
  t.equal(await uploads.copy(young, file), 5);
  await put(await uploads.sign(young, { size: 5, type: 'image/png' }, 60), 'other');
  t.equal((await buffer(await store.get(file))).toString(), 'hello', 'the copy stays what it is');
  t.strictSame((await keysOf(uploads)).toSorted(), [expired, young].toSorted());
  t.equal(await sweepUploads(store), 1);
  t.strictSame(await keysOf(uploads), [young]);
  await uploads.delete(young);
  await uploads.delete(young);
  t.equal(await uploads.copy(young, randomUUID()), undefined);
  t.equal((await buffer(await store.get(file))).toString(), 'hello');
}

async function keysOf(uploads: UploadStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of uploads.keys()) keys.push(key);
  return keys;
}

function* chunksOf(content: Buffer): Generator<Buffer> {
  for (let start = 0; start < content.length; start += 65_536) yield content.subarray(start, start + 65_536);
}

async function* brokenChunks(content: Buffer): AsyncGenerator<Buffer> {
  yield content.subarray(0, 1000);
  await sleep(20);
  throw new Error('the disk is broken');
}
