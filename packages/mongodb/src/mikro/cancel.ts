import type { MongoDriver } from './mongo-driver.ts';

/**
 * Has the server end the commands with a comment that it still runs: one that waits for a record which a transaction has written. It may
 * be told so of the commands of its own user.
 */
export async function cancelCommands(driver: MongoDriver, comment: string): Promise<void> {
  const admin = driver.getConnection('write').getClient().db('admin');
  const running = await admin.aggregate([{ $currentOp: {} }, { $match: { 'command.comment': comment } }]).toArray();
  for (const { opid } of running) await admin.command({ killOp: 1, op: opid });
}
