import { action, Forbidden, ImproperlyConfigured, type ModelViewSetBase } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { eventOf, type Invitations, invitationsIn, type NewInvitation } from '../invitations/invitations.ts';
import { CHECK_AUTH } from './checked-views.ts';
import { MailedRecords } from './mailed-records.ts';
import type { PrivilegeGuard } from './privilege-guard.ts';

export interface InvitingParts {
  readonly names: { readonly email: string; readonly role: string };
  /** The application's options of the view. */
  readonly rest: object;
  readonly guard: PrivilegeGuard;
}

/** A new account, whose mail is sent after the commit. */
interface Created {
  readonly account: object;
  readonly invitation: NewInvitation;
}

const ONE_MAIL =
  'AccountViewSet: option "bulk" cannot have "create" together with "invitations": each new account gets a mail of its own';

/** Adds what invites people to a view of accounts: `create`, and the action `invite` of a record. */
export function invitingView(Base: new () => ModelViewSetBase, { names, rest, guard }: InvitingParts): unknown {
  const { bulk } = rest as { readonly bulk?: number | { readonly create?: number } };
  if (typeof bulk === 'number' || bulk?.create !== undefined) throw new ImproperlyConfigured(ONE_MAIL);
  const created = new MailedRecords<Created>();
  return class InvitingAccountViewSet extends Base {
    [CHECK_AUTH](auth: object): void {
      requireInvitations(auth);
    }

    invite = action(
      {
        methods: ['post', 'delete'],
        detail: true,
        // The mail is sent outside of a transaction, so that no connection waits for it.
        transaction: false,
        responses: { 204: Type.Null() },
        summary: 'Send the invitation of an account again, or revoke it',
        description:
          'POST sends a new link, which replaces the earlier one. DELETE voids the link. An account in use gives 409.',
      },
      async (request, reply: FastifyReply) => {
        const invitations = requireInvitations(request.server.auth);
        const account = await this.getObject(request);
        await guard.check(request, account);
        const { id } = invitations.read(account);
        if (request.method === 'DELETE') {
          await invitations.revoke(request, account);
          request.log.info(eventOf(request, 'auth.invitation_revoked', id), 'an invitation was revoked');
        } else {
          await invitations.sendAgain(request, account, !guard.isAdministrator(request));
          request.log.info(eventOf(request, 'auth.invited', id), 'somebody was invited again');
        }
        reply.code(204);
        return null;
      },
    );

    override async create(request: FastifyRequest, reply: FastifyReply): Promise<object> {
      const invitations = requireInvitations(request.server.auth);
      return created.create(request, {
        create: () => super.create(request, reply),
        send: (made) => sendFirst(request, invitations, made, !guard.isAdministrator(request)),
        discard: ({ account, invitation }) => {
          return invitations.discard(request.em.fork(), invitations.read(account).id, invitation);
        },
      });
    }

    override async performCreate(request: FastifyRequest, data: never): Promise<object> {
      const invitations = requireInvitations(request.server.auth);
      const given = data as Readonly<Record<string, unknown>>;
      const invitation = invitations.issue(String(given[names.email]));
      const role = names.role in given ? given[names.role] : await invitations.defaultRole(request);
      if (names.role in given || 'roles' in given) requireAdministrator(request, guard);
      const fields = { ...given, [names.role]: role, ...invitations.newAccount(invitation) };
      const account = await super.performCreate(request, fields);
      created.note(request, { account, invitation });
      return account;
    }
  };
}

async function sendFirst(
  request: FastifyRequest,
  invitations: Invitations,
  { account, invitation }: Created,
  isLimited: boolean,
): Promise<void> {
  const known = invitations.read(account);
  await invitations.send(request, known, invitation, isLimited);
  request.log.info(eventOf(request, 'auth.invited', known.id), 'somebody was invited');
}

/** @throws Forbidden for a user who is not an administrator, and would choose the rights of an account */
function requireAdministrator(request: FastifyRequest, guard: PrivilegeGuard): void {
  if (!guard.isAdministrator(request)) throw new Forbidden('Only administrators choose the roles of accounts');
}

/** @throws ImproperlyConfigured if the application's `auth` has no option `invitations` */
export function requireInvitations(auth: object): Invitations {
  const invitations = invitationsIn(auth);
  if (invitations !== undefined) return invitations;
  throw new ImproperlyConfigured('AccountViewSet: option "invitations" needs the option "invitations" of auth');
}
