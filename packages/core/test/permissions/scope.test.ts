import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { evaluatePermissions, type PermissionGrant } from '../../src/permissions/evaluate.ts';
import {
  makePermissions,
  Permission,
  type PermissionClass,
  type PermissionView,
} from '../../src/permissions/permission.ts';
import { type Condition, never } from '../../src/query/language/condition.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';

const Thing = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary(),
    color: p.string().nullable(),
    size: p.integer().nullable(),
  },
});

interface ThingRecord {
  readonly id: number;
  readonly color?: string | null | undefined;
  readonly size?: number | null | undefined;
}

const COLORS = ['red', 'blue', null];
const SIZES = [1, 2, null];

/** A class of permissions, and what it means for a record, said in the plainest way. */
interface Meaning {
  readonly Class: PermissionClass;
  readonly grants: (record: ThingRecord) => boolean;
  /**
   * Every answer that is possible as long as no record is looked at: a class without a scope may say both of a record, the
   * scope of another speaks for its object check.
   */
  readonly possible: (record: ThingRecord) => ReadonlySet<boolean>;
  /** The requests' side of it: nothing for whoever is refused, all for whoever no scope and no object check limits. */
  readonly admits: Admission;
}

type Admission = 'nothing' | 'records' | 'all';

interface LeafParts {
  readonly view: boolean;
  readonly color?: string;
  readonly size?: number;
  readonly later: boolean;
}

/** A class with a view check, a scope on colors and an object check on sizes, each only where it is given. */
function leaf({ view, color, size, later }: LeafParts): Meaning {
  class Leaf extends Permission {
    override hasPermission(): boolean | Promise<boolean> {
      return later ? Promise.resolve(view) : view;
    }
    override scope(_request: FastifyRequest, its: PermissionView): Condition | undefined {
      return color === undefined ? undefined : this.records<InferEntity<typeof Thing>>(its, { color });
    }
  }
  class LeafWithObject extends Leaf {
    override hasObjectPermission(
      _request: FastifyRequest,
      _view: PermissionView,
      thing: ThingRecord,
    ): boolean | Promise<boolean> {
      return later ? Promise.resolve(thing.size === size) : thing.size === size;
    }
  }
  const name = `${view ? '' : '!'}${later ? 'later' : ''}[${color ?? ''} ${size ?? ''}]`;
  const Class = size === undefined ? Leaf : LeafWithObject;
  Object.defineProperty(Class, 'name', { value: name });
  const grants = (record: ThingRecord): boolean =>
    view && (color === undefined || record.color === color) && (size === undefined || record.size === size);
  const possible = (record: ThingRecord): ReadonlySet<boolean> => {
    const isOpen = view && color === undefined && size !== undefined;
    return new Set(isOpen ? [true, false] : [view && (color === undefined || record.color === color)]);
  };
  const isLimited = color !== undefined || size !== undefined;
  return { Class, grants, possible, admits: !view ? 'nothing' : isLimited ? 'records' : 'all' };
}

/** Every answer of two classes together, whose answers do not depend on each other. */
function together(
  left: Meaning,
  right: Meaning,
  answer: (left: boolean, right: boolean) => boolean,
): Pick<Meaning, 'grants' | 'possible'> {
  return {
    grants: (record) => answer(left.grants(record), right.grants(record)),
    possible: (record) =>
      new Set([...left.possible(record)].flatMap((one) => [...right.possible(record)].map((two) => answer(one, two)))),
  };
}

const OPPOSITE = { nothing: 'all', records: 'records', all: 'nothing' } as const;

function negation({ Class, grants, possible, admits }: Meaning): Meaning {
  return {
    admits: OPPOSITE[admits],
    Class: Class.not(),
    grants: (record) => !grants(record),
    possible: (record) => new Set([...possible(record)].map((answer) => !answer)),
  };
}

/** Numbers that are the same on every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function sorted(ids: readonly number[]): number[] {
  return ids.toSorted((a, b) => a - b);
}

function randomMeaning(random: (below: number) => number, depth: number): Meaning {
  const kind = depth === 0 ? 0 : random(4);
  if (kind === 0) {
    const color = [undefined, 'red', 'blue'][random(3)];
    const size = [undefined, 1, 2][random(3)];
    const parts = { view: random(4) > 0, later: random(4) === 0 };
    return leaf({ ...parts, ...(color === undefined ? {} : { color }), ...(size === undefined ? {} : { size }) });
  }
  const left = randomMeaning(random, depth - 1);
  if (kind === 1) return negation(left);
  const right = randomMeaning(random, depth - 1);
  const both = [left.admits, right.admits];
  // What decides alone, and what it takes both for.
  const [one, two] = kind === 2 ? (['nothing', 'all'] as const) : (['all', 'nothing'] as const);
  const admits = both.includes(one) ? one : both.every((each) => each === two) ? two : 'records';
  return kind === 2
    ? { Class: left.Class.and(right.Class), ...together(left, right, (first, second) => first && second), admits }
    : { Class: left.Class.or(right.Class), ...together(left, right, (first, second) => first || second), admits };
}

forEachDatabase(t, { entities: [Thing] }, async (t, orm) => {
  const seeding = orm.em.fork();
  for (const color of COLORS) for (const size of SIZES) seeding.create(Thing, { color, size });
  await seeding.flush();
  const view: PermissionView = {
    name: 'ThingViewSet',
    getAction: () => 'retrieve',
    meta: orm.getMetadata().get(Thing),
  };
  const newRequest = (): FastifyRequest => ({ em: orm.em.fork() }) as unknown as FastifyRequest;

  /** What a view's queries find. */
  const visible = async ({ em }: FastifyRequest, { denied, scope }: PermissionGrant): Promise<ThingRecord[]> => {
    if (denied) return [];
    const all = QuerySet.of(em, Thing);
    return (scope === undefined ? all : all.where(scope)).entities();
  };

  t.test(
    'for random compositions, a record is granted if and only if lists show it and the composition grants it',
    async (t) => {
      const random = randomNumbers(7);
      let granted = 0;
      for (let round = 0; round < 300; round++) {
        const { Class, grants, possible } = randomMeaning(random, 3);
        const request = newRequest();
        const grant = await evaluatePermissions(makePermissions([Class], 'test'), request, view, { object: true });
        const expected: number[] = [];
        for (const thing of await request.em.findAll(Thing)) {
          if (grants(thing) && possible(thing).has(true)) expected.push(thing.id);
        }
        const found: number[] = [];
        for (const thing of await visible(request, grant)) {
          if (!grant.needsObject || (await grant.allows(thing))) found.push(thing.id);
        }
        granted += found.length;
        if (sorted(found).join() !== sorted(expected).join()) t.same(found, expected, Class.name);
      }
      t.ok(granted > 100, `${granted} records were granted`);
    },
  );

  t.test('if the object was not available before, a checked record is evaluated completely', async (t) => {
    const random = randomNumbers(11);
    for (let round = 0; round < 60; round++) {
      const { Class, grants, possible } = randomMeaning(random, 2);
      const request = newRequest();
      const grant = await evaluatePermissions(makePermissions([Class], 'test'), request, view, { object: false });
      const permission = new Class();
      for (const thing of await request.em.findAll(Thing)) {
        const expected = grants(thing) && possible(thing).has(true);
        if ((await grant.allows(thing)) !== expected) t.fail(`${Class.name} allows ${JSON.stringify(thing)}`);
        const isComposed = Class.name.startsWith('(');
        if (isComposed && (await permission.hasObjectPermission(request, view, thing)) !== expected) t.fail(Class.name);
      }
    }
    t.pass('all agree');
  });

  t.test(
    'for random compositions, a list shows a record if and only if some result of the object checks grants it',
    async (t) => {
      const random = randomNumbers(13);
      let hidden = 0;
      for (let round = 0; round < 300; round++) {
        const { Class, possible } = randomMeaning(random, 3);
        const request = newRequest();
        const grant = await evaluatePermissions(makePermissions([Class], 'test'), request, view, { object: false });
        const all = await request.em.findAll(Thing);
        const expected = all.filter((thing) => possible(thing).has(true)).map(({ id }) => id);
        const listed = (await visible(newRequest(), grant)).map(({ id }) => id);
        hidden += all.length - listed.length;
        if (sorted(listed).join() !== sorted(expected).join()) t.same(sorted(listed), sorted(expected), Class.name);
      }
      t.ok(hidden > 300, `${hidden} records were hidden`);
    },
  );

  t.test('a list shows records that a scope admits, or that no check excludes', async (t) => {
    const listed = async (Class: PermissionClass): Promise<string[]> => {
      const request = newRequest();
      const grant = await evaluatePermissions(makePermissions([Class], 'test'), request, view, { object: false });
      if (grant.denied) return ['denied'];
      const things = await visible(request, grant);
      return [...new Set(things.map((thing) => String(thing.color)))].toSorted();
    };
    const Red = leaf({ view: true, color: 'red', later: false }).Class;
    const RedAndSmall = leaf({ view: true, color: 'red', size: 1, later: false }).Class;
    const Small = leaf({ view: true, size: 1, later: false }).Class;
    t.same(await listed(Red), ['red']);
    t.same(await listed(Red.not()), ['blue', 'null']);
    t.same(await listed(RedAndSmall.not()), ['blue', 'null'], 'the scope speaks for the object check');
    t.same(await listed(Small.not()), ['blue', 'null', 'red'], 'no scope: nothing is hidden');
    t.same(
      await listed(Red.or(Small).not()),
      ['blue', 'null'],
      'what one of two surely grants, their opposite never does',
    );
    t.same(await listed(Red.or(Small).not().not()), ['blue', 'null', 'red']);
    t.same(await listed(Red.not().and(Small).not()), ['blue', 'null', 'red']);
    t.same(await listed(Red.and(Red.not())), []);
    t.same(await listed(Red.or(Red.not())), ['blue', 'null', 'red']);
  });

  t.test('for random compositions, a request is refused if and only if the view checks refuse it', async (t) => {
    const random = randomNumbers(17);
    const counts = { refused: 0, empty: 0 };
    for (let round = 0; round < 300; round++) {
      const { Class, admits } = randomMeaning(random, 3);
      const request = newRequest();
      const grant = await evaluatePermissions(makePermissions([Class], 'test'), request, view, { object: false });
      if (grant.denied === (admits !== 'nothing')) t.fail(`${Class.name} is ${grant.denied ? '' : 'not '}refused`);
      const isEmpty = !grant.denied && (await visible(request, grant)).length === 0;
      counts[grant.denied ? 'refused' : 'empty'] += grant.denied || isEmpty ? 1 : 0;
    }
    t.ok(counts.refused > 30 && counts.empty > 5, JSON.stringify(counts));
  });

  t.test('an empty scope shows no records and does not refuse the request', async (t) => {
    const evaluated = async (Class: PermissionClass): Promise<PermissionGrant> =>
      evaluatePermissions(makePermissions([Class], 'test'), newRequest(), view, { object: false });
    class OfNoTeam extends Permission {
      override scope(_request: FastifyRequest, its: PermissionView): Condition {
        return this.records<InferEntity<typeof Thing>>(its, { color__in: [] });
      }
    }
    class OfAnyTeam extends Permission {
      override scope(_request: FastifyRequest, its: PermissionView): Condition {
        return this.records<InferEntity<typeof Thing>>(its, {});
      }
    }
    const Refused = leaf({ view: false, later: false }).Class;
    const Admitted = leaf({ view: true, later: false }).Class;
    for (const Class of [
      OfNoTeam,
      OfAnyTeam.not(),
      OfNoTeam.and(Admitted),
      Refused.or(OfNoTeam),
      OfNoTeam.or(OfNoTeam),
    ]) {
      const grant = await evaluated(Class);
      t.notOk(grant.denied, Class.name);
      t.same(await visible(newRequest(), grant), [], Class.name);
    }
    for (const Class of [Admitted.not(), Refused, Refused.and(OfAnyTeam), Admitted.not().and(OfNoTeam)]) {
      t.ok((await evaluated(Class)).denied, Class.name);
    }
    for (const Class of [OfNoTeam.not(), OfAnyTeam, OfNoTeam.or(Admitted)]) {
      t.equal((await visible(newRequest(), await evaluated(Class))).length, 9, Class.name);
    }
    class OfNothing extends Permission {
      override scope(): Condition {
        return never;
      }
    }
    const plain: PermissionView = { name: 'StatusViewSet', getAction: () => 'status' };
    const asked = makePermissions([OfNothing], 'test');
    const { denied } = await evaluatePermissions(asked, newRequest(), plain, { object: false });
    t.ok(denied, 'nobody narrows the answers of a view without an entity');
  });

  t.test('a record is checked in its transaction', async (t) => {
    const Class = leaf({ view: true, color: 'red', later: false }).Class.or(
      leaf({ view: true, size: 1, later: false }).Class,
    );
    const request = newRequest();
    const permissions = makePermissions([Class], 'test');
    const changed = request.em.transactional(async (em) => {
      const grant = await evaluatePermissions(permissions, request, view, { object: true });
      const thing = await em.findOneOrFail(Thing, { color: 'red', size: 2 });
      t.equal(await grant.allows(thing), true);
      thing.color = 'blue';
      await em.flush();
      t.equal(await grant.allows(thing), false, 'what is not committed yet counts');
      throw new Error('rolled back');
    });
    await t.rejects(changed, { message: 'rolled back' });
  });

  t.test('a value that is not an entity cannot be in a scope', async (t) => {
    const Class = leaf({ view: true, color: 'red', later: false }).Class.or(
      leaf({ view: true, size: 1, later: false }).Class,
    );
    const request = newRequest();
    const grant = await evaluatePermissions(makePermissions([Class], 'test'), request, view, { object: true });
    await t.rejects(async () => grant.allows({ id: 1 }), { name: 'ImproperlyConfigured' });
  });
});
