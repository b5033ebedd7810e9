import { passwordField } from '@viewset/auth';
import { action, AllowAny, computed, ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Type } from 'typebox';
import { User } from './entities.ts';

const read = readShape(User, ['username', 'email', 'bio', 'image'], {
  token: computed(Type.String(), ['id', 'username', 'email'], ({ id, username, email }, { server }) =>
    server.auth.issueToken({ id, name: username, email }),
  ),
});
const fields = { email: Type.String({ format: 'email', maxLength: 255 }), password: passwordField({ minLength: 8 }) };
const names = ['username', 'bio', 'image'] as const;
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
      return this.represent(await request.em.findOneOrFail(User, id), request);
    },
  );
}

/** The user who is logged in. */
export class CurrentUserViewSet extends ModelViewSet(User, {
  read,
  write: writeShape(User, names, fields, { optional: [...names, 'email', 'password'] }),
  singleton: ({ user }) => user && { id: user.id },
  updateMethods: ['PUT'],
  envelope: { one: 'user' },
}) {}
