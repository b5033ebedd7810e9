/** An action that is no property of its view has no route. It fails at start. */
import t from 'tap';
import { action, ModelViewSet, readShape, Router, ViewSet } from '../../../src/index.ts';
import { openSqlite } from '../../support/databases.ts';
import { Book, LIBRARY, testApp } from '../../support/library.ts';

const read = readShape(Book, ['id', 'title']);

const LOST: readonly (readonly [new () => ViewSet, string])[] = [
  [
    class Method extends ModelViewSet(Book, { read }) {
      recount() {
        return action({ methods: ['post'] }, async () => ({}));
      }
    },
    'the method "recount" returns an action',
  ],
  [
    class Asynchronous extends ViewSet {
      async recount() {
        const answer = {};
        return action({ methods: ['post'] }, () => answer);
      }
    },
    'the method "recount" returns an action',
  ],
  [
    class Getter extends ViewSet {
      get recount() {
        return action({}, () => ({}));
      }
    },
    'the getter "recount" returns an action',
  ],
  [
    class Arrow extends ViewSet {
      recount = () => action({}, () => ({}));
    },
    'the method "recount" returns an action',
  ],
  [
    class Static extends ViewSet {
      static recount = action({}, () => ({}));
    },
    'the action "recount" belongs to the class',
  ],
  [
    class Grouped extends ViewSet {
      recount = { now: action({}, () => ({})) };
    },
    '"recount" contains an action',
  ],
  [
    class Listed extends ViewSet {
      recount = [action({}, () => ({}))];
    },
    '"recount" contains an action',
  ],
];

for (const [View, what] of LOST) {
  t.test(`${View.name}: ${what}`, async (t) => {
    t.throws(() => new Router().register('books', View), {
      code: 'improperly_configured',
      message: `${View.name}: ${what}, so it has no route; assign the action to a property of the view: recount = action(…)`,
    });
    t.throws(() => new Router().register('books', class extends View {}), { message: / has no route; / });
  });
}

t.test('a private action', async (t) => {
  class Private extends ViewSet {
    // @ts-expect-error -- nothing reads it
    readonly #recount = action({}, () => ({})); // oxlint-disable-line no-unused-private-class-members -- the mistake
  }
  t.throws(() => new Router().register('books', Private), {
    message: 'Private: the action "#recount" is private, so it has no route; make it public: recount = action(…)',
  });
});

t.test('a method may make the action of a property, or call something else of this name', async (t) => {
  const service = { action: (name: string) => name };
  class Fine extends ViewSet {
    readonly #hidden = action({}, () => ({ value: 1 }));
    recount = this.make();
    again = this.#hidden;
    repeated = this.named('repeated');
    make() {
      return action({}, () => ({ value: 2 }));
    }
    named(value: string) {
      return action({}, () => ({ value }));
    }
    other() {
      return service.action('other');
    }
    action() {
      return this.other();
    }
    called() {
      return this.action();
    }
  }
  const app = await testApp(t, await openSqlite(t, { entities: LIBRARY }), [new Router().register('fine', Fine)]);
  t.same((await app.inject('/fine/recount')).json(), { value: 2 });
  t.same((await app.inject('/fine/again')).json(), { value: 1 });
  t.same((await app.inject('/fine/repeated')).json(), { value: 'repeated' });
});

t.test('a router with its own actions may find them anywhere', async (t) => {
  class View extends ViewSet {
    recount() {
      return action({}, () => ({ value: 3 }));
    }
  }
  class MethodRouter extends Router {
    protected override actions(view: ViewSet) {
      return new Map([...super.actions(view), ['recount', (view as View).recount()]]);
    }
  }
  const app = await testApp(t, await openSqlite(t, { entities: LIBRARY }), [new MethodRouter().register('view', View)]);
  t.same((await app.inject('/view/recount')).json(), { value: 3 });
});
