import { createRequire } from 'node:module';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Test } from 'tap';

/** What is used of the driver's own BSON; the driver is a dependency of @mikro-orm/mongodb alone. */
interface Bson {
  serialize(document: object): Uint8Array;
  deserialize(bytes: Uint8Array): Record<string, unknown>;
}

const driver = createRequire(import.meta.resolve('@mikro-orm/mongodb'));
const { BSON } = driver('mongodb') as { BSON: Bson };

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER_BYTES = 16;

/** A server that speaks as much of MongoDB's wire protocol as a handshake and a write take. */
export interface MongoServer {
  readonly url: string;
  /** What it answers to a write; undefined: nothing, ever. */
  reply: object | undefined;
}

export async function mongoServer(t: Test): Promise<MongoServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    let pending = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= 4 && pending.length >= pending.readInt32LE(0)) {
        const message = pending.subarray(0, pending.readInt32LE(0));
        pending = pending.subarray(message.length);
        const reply = answer(message, mongo.reply);
        if (reply !== undefined) socket.write(reply);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const mongo: MongoServer = {
    url: `mongodb://127.0.0.1:${(server.address() as AddressInfo).port}/test`,
    reply: { ok: 1 },
  };
  return mongo;
}

const HELLO = {
  helloOk: true,
  isWritablePrimary: true,
  ismaster: true,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  minWireVersion: 0,
  maxWireVersion: 21,
  ok: 1,
};

function answer(message: Buffer, given: object | undefined): Buffer | undefined {
  const [requestId, opCode] = [message.readInt32LE(4), message.readInt32LE(12)];
  if (opCode === OP_QUERY) {
    const head = Buffer.alloc(20);
    head.writeInt32LE(1, 16);
    return packet(requestId, OP_REPLY, Buffer.concat([head, BSON.serialize(HELLO)]));
  }
  // Flags, then one section of kind 0: the command.
  const command = BSON.deserialize(message.subarray(HEADER_BYTES + 5));
  const reply = 'delete' in command ? given : 'hello' in command || 'ismaster' in command ? HELLO : { ok: 1 };
  if (reply === undefined) return undefined;
  return packet(requestId, OP_MSG, Buffer.concat([Buffer.alloc(5), BSON.serialize(reply)]));
}

function packet(responseTo: number, opCode: number, body: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeInt32LE(HEADER_BYTES + body.length, 0);
  header.writeInt32LE(responseTo, 8);
  header.writeInt32LE(opCode, 12);
  return Buffer.concat([header, body]);
}
