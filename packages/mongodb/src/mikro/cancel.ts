import type { MongoDriver } from './mongo-driver.ts';

/**
 * Makes the server end running commands that have a comment, such as one that waits for a record in another
 * transaction. A user may list and end its own commands without more privileges.
 */
export async function cancelCommands(driver: MongoDriver, comment: string): Promise<void> {
  const admin = driver.getConnection('write').getClient().db('admin');
  const running = await admin.aggregate([{ $currentOp: {} }, { $match: { 'command.comment': comment } }]).toArray();
  for (const { opid } of running) await admin.command({ killOp: 1, op: opid });
}
