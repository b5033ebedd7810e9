import { passwordField } from '@viewset/auth';
import {
  action,
  AllowAny,
  computed,
  IsAuthenticated,
  ModelViewSet,
  readShape,
  requireUser,
  writeShape,
} from '@viewset/core';
import { Type } from 'typebox';
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

/** The user who is logged in. */
export class CurrentUserViewSet extends ModelViewSet(User, {
  read,
  write: writeShape(User, ['username', 'bio', 'image'], fields, { optional: ['username', 'email', 'password'] }),
  envelope: { one: 'user' },
  permissionClasses: [IsAuthenticated],
}) {}
