/** Two APIs with different users in one program, none of which augments `ViewsetTypes`. */
import type { InferEntity } from '@mikro-orm/core';
import fastify, { type FastifyRequest } from 'fastify';
import t from 'tap';
import {
  action,
  type InputOf,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  serverOptions,
  ViewSet,
  viewset,
  withUser,
  type WriteData,
  writeShape,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { LIBRARY } from '../support/library.ts';
import { Author } from '../support/shelves.ts';

interface Member {
  readonly id: number;
  readonly kind: 'member';
  readonly card: string;
}
interface Machine {
  readonly id: string;
  readonly kind: 'machine';
  readonly rights: readonly string[];
}

const members = withUser<Member>();
const machines = withUser<Machine>();

class IsCardHolder extends Permission {
  override hasPermission(request: FastifyRequest) {
    return members.getCurrentUser(request)?.card !== undefined;
  }
}
class MayRead extends Permission {
  override hasPermission(request: FastifyRequest, _view: PermissionView) {
    return machines.requireUser(request).rights.includes('read');
  }
}

class MemberViewSet extends ViewSet {
  override permissionClasses = [IsCardHolder];
  card = action({}, (request) => ({ card: members.requireUser(request).card }));
}
class MachineViewSet extends ViewSet {
  override permissionClasses = [MayRead];
  rights = action({}, (request) => ({ rights: machines.requireUser(request).rights }));
}

const write = writeShape(Author, ['name']);
export class OfMembers extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name']),
  write,
  validate: (_data, problems, request) => {
    if (members.requireUser(request).card === '') problems.add('/name', 'needs a card');
  },
}) {
  override performCreate(request: FastifyRequest, data: WriteData<InferEntity<typeof Author>, InputOf<typeof write>>) {
    const { card } = members.requireUser(request);
    // @ts-expect-error -- the user of the other API has it
    void members.requireUser(request).rights;
    // @ts-expect-error -- the user of the other API
    const other: Machine = members.requireUser(request);
    // @ts-expect-error -- nobody may be logged in
    void machines.getCurrentUser(request).rights;
    void other;
    return super.performCreate(request, { ...data, name: `${data.name} ${card}` });
  }
}
// @ts-expect-error -- a user has an id
void (() => withUser<{ name: string }>());

t.test('every API has functions with the type of its user', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const serve = async (user: Member | Machine, path: string, View: new () => ViewSet) => {
    const app = fastify(serverOptions());
    t.teardown(() => app.close());
    await app.register(viewset, { orm, user: () => user });
    const router = new Router();
    router.register(path, View);
    await app.register(router.plugin);
    return app;
  };
  const ofMembers = await serve({ id: 1, kind: 'member', card: 'A7' }, 'members', MemberViewSet);
  const ofMachines = await serve({ id: 'm1', kind: 'machine', rights: ['read'] }, 'machines', MachineViewSet);
  t.same((await ofMembers.inject('/members/card')).json(), { card: 'A7' });
  t.same((await ofMachines.inject('/machines/rights')).json(), { rights: ['read'] });
});
