import { comparesOneKey, primaryKey, type Question, type Slice } from '@viewset/core/backend';
import type { Document } from '../mikro/mongo-driver.ts';
import { lockDocuments } from '../mikro/document-locks.ts';
import { matchOf, rootScope } from './match.ts';
import { readRows } from './read-command.ts';

/**
 * Prevents others from writing the question's records until the transaction ends. If own columns identify the records,
 * the locking write comes first in the transaction, so it can wait for other writers (`waitingForOthers`).
 */
export async function lockRecords(question: Question, slice: Slice | undefined): Promise<void> {
  const { em, query } = question;
  await lockDocuments(em, query.meta, await filterOfLocked(question, slice));
}

async function filterOfLocked(question: Question, slice: Slice | undefined): Promise<Document> {
  const { meta, condition } = question.query;
  const key = primaryKey(meta);
  const { ofDocument, rest } = matchOf(rootScope(question), question);
  if (rest.length === 0 && (slice === undefined || comparesOneKey(condition, key))) return ofDocument;
  const rows = await readRows(question, { columns: [key], entityColumns: 1, slice, ordered: true });
  return { _id: { $in: rows.map(([value]) => value) } };
}
