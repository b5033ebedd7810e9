import { randomBytes } from 'node:crypto';
import { defineEntity, type InferEntity, type MikroORM, type Options, p } from '@mikro-orm/core';
import { MongoDriver } from '@mikro-orm/mongodb';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { SqliteDriver } from '@mikro-orm/sqlite';
import { MongoExtension } from '@viewset/mongodb';

export const Article = defineEntity({
  name: 'Article',
  properties: { id: p.integer().primary(), title: p.string(), body: p.text() },
});
export type Article = InferEntity<typeof Article>;

/** The words that searches look for, and the share of the records that have each. */
const MARKS = { pelican: 0.001, lantern: 0.012, river: 0.82, stone: 0.35 } as const;

export const SEARCHES = ['pelican', 'lantern', 'river', 'river pelican', 'river stone'];

const WORDS_OF_A_RECORD = 46;
const VOCABULARY = Array.from({ length: 5000 }, (_, index) => `w${index.toString(36)}x`);

/** Stores records of words that are equal in each run. */
export async function writeArticles(orm: MikroORM, records: number): Promise<void> {
  const random = randomNumbers(1);
  const article = (id: number): { id: number; title: string; body: string } => {
    const words = Array.from(
      { length: WORDS_OF_A_RECORD },
      () => VOCABULARY[Math.floor(random() * VOCABULARY.length)]!,
    );
    for (const [place, [word, share]] of Object.entries(MARKS).entries()) {
      if (random() < share) words[4 + 9 * place] = word;
    }
    return { id, title: words.slice(0, 4).join(' '), body: words.slice(4).join(' ') };
  };
  const size = 2000;
  for (let first = 1; first <= records; first += size) {
    const length = Math.min(size, records - first + 1);
    await orm.em.fork().insertMany(
      Article,
      Array.from({ length }, (_, index) => article(first + index)),
    );
  }
}

/** The available databases, and the MikroORM options that create a separate one on each. */
export function articleDatabases(): readonly { readonly title: string; readonly options: Partial<Options> }[] {
  const { TEST_POSTGRES_URL: postgresUrl, TEST_MONGODB_URL: mongoUrl } = process.env;
  const dbName = `viewset_bench_${randomBytes(4).toString('hex')}`;
  const entities = [Article];
  const extensions = [MongoExtension];
  const schemaGenerator = { skipTables: [/_full_text/], ignoreTriggers: true };
  return [
    { title: 'SQLite', options: { driver: SqliteDriver, dbName: ':memory:', entities, schemaGenerator } },
    ...(postgresUrl === undefined
      ? []
      : [{ title: 'PostgreSQL', options: { driver: PostgreSqlDriver, clientUrl: postgresUrl, dbName, entities } }]),
    ...(mongoUrl === undefined
      ? []
      : [{ title: 'MongoDB', options: { driver: MongoDriver, clientUrl: mongoUrl, dbName, entities, extensions } }]),
  ];
}

/** Returns numbers from 0 to 1, the same ones for the same seed: a linear congruential generator. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
