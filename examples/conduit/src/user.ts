import { passwordField } from '@viewset/auth';
import { action, AllowAny, computed, getCurrentUser, IsAuthenticated, ModelViewSet, readShape, requireUser, writeShape } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { User } from './entities.ts';

/** The user of a request, as a condition on users; undefined if nobody is logged in. */
export function me(request: FastifyRequest): { id: number } | undefined {
  const user = getCurrentUser(request);
  return user === null ? undefined : { id: user.id };
}

const user = readShape(User, ['username', 'email', 'bio', 'image'], {
  token: computed(Type.String(), ['id', 'username', 'email'], ({ id, username, email }, request) =>
    request.server.auth.issueToken({ id, name: username, email, role: null }),
  ),
});
const email = Type.String({ format: 'email', maxLength: 255 });
const password = passwordField({ minLength: 8 });
const credentials = Type.Object({ email: Type.String(), password: Type.String() });

/** Registration and login. */
export class UserViewSet extends ModelViewSet(User, {
  read: user,
  write: writeShape(User, ['username'], { email, password }),
  operations: ['create'],
  envelope: { one: 'user' },
  permissionClasses: [AllowAny],
}) {
  login = action(
    { methods: ['post'], body: Type.Object({ user: credentials }), response: Type.Object({ user: user.schema }) },
    async (request) => {
      const { email, password } = request.body.user;
      const { id } = await request.server.auth.verifyLogin(request, email, password);
      return { user: await this.represent(await request.em.findOneOrFail(User, id), request) };
    },
  );
}

/** The user who is logged in. */
export class CurrentUserViewSet extends ModelViewSet(User, {
  read: user,
  write: writeShape(User, ['bio', 'image'], { username: Type.Optional(Type.String()), email: Type.Optional(email), password: Type.Optional(password) }),
  singleton: (request) => ({ id: requireUser(request).id }),
  operations: ['retrieve', 'update'],
  envelope: { one: 'user' },
  permissionClasses: [IsAuthenticated],
}) {}
