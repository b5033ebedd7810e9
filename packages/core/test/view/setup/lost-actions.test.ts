/** An action that is no property of its view has no route. It is a warning at start. */
import t from 'tap';
import { action, ModelViewSet, readShape, Router, ViewSet } from '../../../src/index.ts';
import { openSqlite } from '../../support/databases.ts';
import { Book, LIBRARY, testApp, warningsAtStart } from '../../support/library.ts';

const read = readShape(Book, ['id', 'title']);

class Routed extends ViewSet {
  other = action({}, () => ({}));
}

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
    class Asynchronous extends Routed {
      async recount() {
        const answer = {};
        return action({ methods: ['post'] }, () => answer);
      }
    },
    'the method "recount" returns an action',
  ],
  [
    class Getter extends Routed {
      get recount() {
        return action({}, () => ({}));
      }
    },
    'the getter "recount" returns an action',
  ],
  [
    class Arrow extends Routed {
      recount = () => action({}, () => ({}));
    },
    'the method "recount" returns an action',
  ],
  [
    class Static extends Routed {
      static recount = action({}, () => ({}));
    },
    'the action "recount" belongs to the class',
  ],
  [
    class Grouped extends Routed {
      recount = { now: action({}, () => ({})) };
    },
    '"recount" contains an action',
  ],
  [
    class Listed extends Routed {
      recount = [action({}, () => ({}))];
    },
    '"recount" contains an action',
  ],
];

for (const [View, what] of LOST) {
  t.test(`${View.name}: ${what}`, async (t) => {
    const orm = await openSqlite(t, { entities: LIBRARY });
    const routers = [new Router().register('given', View), new Router().register('inherited', class extends View {})];
    const [given, inherited, ...others] = await warningsAtStart(t, orm, routers);
    t.equal(
      given,
      `${View.name}: ${what}, so it has no route; assign the action to a property of the view: recount = action(…)`,
    );
    t.match(inherited, / has no route; /);
    t.strictSame(others, []);
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

t.test('members that other code uses', async (t) => {
  class Fine extends ViewSet {
    static readonly shared = action({}, () => ({ value: 4 }));
    readonly parts = { first: action({}, () => ({ value: 5 })) };
    recount = Fine.shared;
    again = this.parts.first;
    later = madeBy(this);
    make() {
      return action({}, () => ({ value: 6 }));
    }
  }
  function madeBy(view: Fine) {
    return view.make();
  }
  const app = await testApp(t, await openSqlite(t, { entities: LIBRARY }), [new Router().register('fine', Fine)]);
  t.same((await app.inject('/fine/recount')).json(), { value: 4 });
  t.same((await app.inject('/fine/again')).json(), { value: 5 });
  t.same((await app.inject('/fine/later')).json(), { value: 6 });
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
