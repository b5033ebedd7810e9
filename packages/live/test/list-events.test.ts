/** The events between two states of a list, and the ids by which clients go on. */
import t from 'tap';
import { eventsBetween } from '../src/list-events.ts';
import { ListState } from '../src/list-state.ts';

const pageOf = (count: number, value: number) => ({
  records: Array.from({ length: count }, (_, index) => ({ key: String(index), json: `{"value":${value}}` })),
  rest: '{}',
  mark: String(value),
  json: '',
});

function idsBetween(count: number): { readonly ids: string[]; readonly last: string } {
  const page = pageOf(count, 2);
  const state = ListState.of(page);
  const text = eventsBetween(ListState.of(pageOf(count, 1)), state, page);
  return { ids: [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!), last: state.id };
}

t.test('each event of a short list has the id of the state after it', async (t) => {
  const { ids, last } = idsBetween(20);
  t.equal(ids.length, 21);
  t.equal(new Set(ids).size, 21);
  t.equal(ids.at(-1), last);
  t.ok(ids.every((id) => ListState.parse(id)?.keys.length === 20));
});

t.test('only the last event of a long list has the id of a state, and no other is computed', async (t) => {
  const { ids, last } = idsBetween(500);
  t.equal(ids.length, 501);
  t.equal(ids.at(-1), last);
  t.strictSame([...new Set(ids.slice(0, -1))], ['unfinished']);
  t.equal(ListState.parse('unfinished'), undefined);
});

t.test('the events from a made-up state are not much longer than the list', async (t) => {
  const digest = 'A'.repeat(12);
  const keys = Array.from({ length: 100 }, (_, index) => [`x${index}`, digest] as const);
  const madeUp = ListState.parse(new ListState(keys, digest).id)!;
  t.ok(madeUp.id.length > 2000, 'an id as long as a header allows');
  const page = pageOf(10, 1);
  const text = eventsBetween(madeUp, ListState.of(page), page);
  t.equal([...text.matchAll(/^event: leave$/gm)].length, 100);
  t.equal([...text.matchAll(/^event: enter$/gm)].length, 10);
  t.ok(text.length < 32_768, `${text.length} characters`);
  const ids = [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!);
  t.equal(ids.at(-1), ListState.of(page).id);
});
