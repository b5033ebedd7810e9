import { passwordField } from '@viewset/auth';
import { action, AllowAny, computed, ModelViewSet, readShape, requireUser, writeShape } from '@viewset/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { User } from './entities.ts';

const read = readShape(User, ['username', 'email', 'bio', 'image'], {
  token: computed(Type.String(), ['id', 'username', 'email'], ({ id, username, email }, { server }) =>
    server.auth.issueToken({ id, name: username, email }),
  ),
});
const fields = {
  email: Type.String({ format: 'email', maxLength: 255 }),
  password: passwordField({ minLength: 8 }),
};
const Credentials = Type.Object({ email: Type.String(), password: Type.String() });

/** Registration, and login. */
export class UserViewSet extends ModelViewSet(User, {
  read,
  write: writeShape(User, ['username'], fields),
  operations: ['create'],
  envelope: { one: 'user' },
  permissionClasses: [AllowAny],
}) {
  login = action(
    { answers: 'record', methods: ['post'], body: Type.Object({ user: Credentials }) },
    async (request) => {
      const { email, password } = request.body.user;
      const { id } = await request.server.auth.verifyLogin(request, email, password);
      const user = await request.em.findOneOrFail(User, id);
      return this.represent(user, request);
    },
  );
}

const CurrentUser = Type.Object({ user: read.schema });
const Changes = Type.Object({
  user: Type.Partial(
    Type.Object(
      {
        ...fields,
        username: Type.String({ minLength: 1, maxLength: 50 }),
        bio: Type.Union([Type.String(), Type.Null()]),
        image: Type.Union([Type.String({ maxLength: 500 }), Type.Null()]),
      },
      // Everything else of an account is not for its user to write.
      { additionalProperties: false },
    ),
  ),
});

const WORDS = {
  current: {
    operationId: 'retrieveUser',
    tags: ['users'],
    summary: 'Retrieve the user',
    description: 'Who is logged in.',
  },
  change: {
    operationId: 'replaceUser',
    tags: ['users'],
    summary: 'Change the user',
    description: 'Any of the fields.',
  },
};

const current = (request: FastifyRequest) => request.em.findOneOrFail(User, requireUser(request).id);

/** The user who is logged in has no key in the URL, so that these are routes of Fastify. */
export async function currentUserRoutes(app: FastifyInstance): Promise<void> {
  const response = { 200: CurrentUser };
  const answer = ({ id, username, email, bio = null, image = null }: User) => {
    const token = app.auth.issueToken({ id, name: username, email });
    return { user: { username, email, bio, image, token } };
  };
  app.get('/api/user', { schema: { ...WORDS.current, response } }, async (request) => answer(await current(request)));
  app.put<{ Body: Static<typeof Changes> }>(
    '/api/user',
    { schema: { ...WORDS.change, body: Changes, response } },
    async (request) => {
      const user = await current(request);
      request.em.assign(user, request.body.user);
      await request.em.flush();
      return answer(user);
    },
  );
}
