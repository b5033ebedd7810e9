import { asksForOne, primaryKey, type Question, type Slice } from '@viewset/core/backend';
import type { Document } from '../mikro/mongo-driver.ts';
import { lockDocuments } from '../mikro/document-locks.ts';
import { matchOf, rootScope } from './match.ts';
import { readRows } from './read-command.ts';

/**
 * Keeps others from writing the records of a question until the transaction ends. It begins with the write that locks them, if
 * their own columns tell which they are: then it waits for others who have written them (`waitingForOthers`).
 */
export async function lockRecords(question: Question, slice: Slice | undefined): Promise<void> {
  const { em, query } = question;
  await lockDocuments(em, query.meta, await filterOfLocked(question, slice));
}

async function filterOfLocked(question: Question, slice: Slice | undefined): Promise<Document> {
  const { meta, condition } = question.query;
  const key = primaryKey(meta);
  const { own, rest } = matchOf(rootScope(question), question);
  if (rest.length === 0 && (slice === undefined || asksForOne(condition, key))) return own;
  const rows = await readRows(question, { columns: [key], entityColumns: 1, slice, ordered: true });
  return { _id: { $in: rows.map(([value]) => value) } };
}
