/** The one suite of every store: a local folder, and S3 by a server that speaks its protocol. */
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
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
import { type FileStore, flydriveStore } from '../../src/index.ts';

const s3Url = process.env['TEST_S3_URL'];
const skipS3 = s3Url === undefined && process.env['CI'] !== 'true' && 'S3 is NOT TESTED: TEST_S3_URL names no server';

t.test('a local folder', async (t) => {
  const location = await mkdtemp(join(tmpdir(), 'file-store-test-'));
  t.teardown(() => rm(location, { recursive: true }));
  await behavesAsStore(t, flydriveStore(new Disk(new FSDriver({ location, visibility: 'private' }))));
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

function* chunksOf(content: Buffer): Generator<Buffer> {
  for (let start = 0; start < content.length; start += 65_536) yield content.subarray(start, start + 65_536);
}

async function* brokenChunks(content: Buffer): AsyncGenerator<Buffer> {
  yield content.subarray(0, 1000);
  await sleep(20);
  throw new Error('the disk is broken');
}
