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

t.test('each event of a short list has the id of the state that it leads to', async (t) => {
  const { ids, last } = idsBetween(20);
  t.equal(ids.length, 21);
  t.equal(new Set(ids).size, 21);
  t.equal(ids.at(-1), last);
  t.ok(ids.every((id) => ListState.parse(id)?.keys.length === 20));
});

t.test('the last event alone of a long one has the id of a state, and no other is worked out', async (t) => {
  const { ids, last } = idsBetween(500);
  t.equal(ids.length, 501);
  t.equal(ids.at(-1), last);
  t.strictSame([...new Set(ids.slice(0, -1))], ['unfinished']);
  t.equal(ListState.parse('unfinished'), undefined);
});
