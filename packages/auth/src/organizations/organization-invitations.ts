import type { EntityManager, EntityName, MikroORM } from '@mikro-orm/core';
import {
  action,
  checkOptionNames,
  ImproperlyConfigured,
  IsAuthenticated,
  IsSafeMethodOnly,
  matching,
  NotFound,
  Permission,
  type PermissionClass,
  type PermissionView,
  QuerySet,
  readShape,
  requireUser,
  retryLost,
  securityEvent,
  TargetObjectAlreadyExist,
  wrongOption,
  writeShape,
} from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { accountNamesOf } from '../accounts/account-names.ts';
import { normalizeEmail } from '../accounts/email-address.ts';
import { EmailAddress } from '../accounts/email-field.ts';
import type { EmailText } from '../codes/email-sender.ts';
import { lifetimeMsOf } from '../codes/lifetime-hours.ts';
import { maxPerDayOf } from '../codes/max-per-day.ts';
import { mailsFor, mailsIn } from '../codes/request-mails.ts';
import { CHECK_AUTH } from '../views/checked-views.ts';
import { logNoted, noteEvent } from '../views/noted-events.ts';
import { MailedRecords } from '../views/mailed-records.ts';
import { viewClass } from '../views/view-class.ts';
import type { Memberships } from './memberships.ts';
import { HasNoScopes } from './organization-permissions.ts';

/**
 * Makes the text of the mail that invites somebody to an organization. `organization` is the id; `request.em` reads
 * more of it.
 */
export type OrganizationEmail = (
  invitation: {
    readonly id: unknown;
    readonly email: string;
    readonly role: string;
    readonly organization: unknown;
  },
  request: FastifyRequest,
) => EmailText | Promise<EmailText>;

/** The options of the view of an organization's invitations. */
export interface OrganizationInvitationOptions {
  /** Writes the mail, with the page of your application where users accept. It needs no secret. */
  readonly email: OrganizationEmail;
  /** How long an invitation is valid, in hours. Default: 168, a week. At most 8760, a year. */
  readonly lifetimeHours?: number;
  /**
   * How many invitations one user may send in 24 hours, in all organizations together, `resend` included. More give 429.
   * Default: 100. At most 10000.
   */
  readonly maxPerDay?: number;
}

/** The mail of an invitation, and how many one user may send. */
interface InvitationMail {
  readonly write: OrganizationEmail;
  readonly maxPerDay: number;
}

interface Invitation {
  readonly id: unknown;
  readonly email: string;
  readonly role: string;
  readonly invited_by: { readonly id: unknown };
  readonly expires_at: Date;
  readonly [organization: string]: unknown;
}

const OWNER = 'InvitationViewSet()';

/** Invitations to organizations, for the people who send and receive them. */
class OrganizationInvitations {
  readonly #memberships: Memberships;
  readonly #entity: EntityName<object>;

  constructor(memberships: Memberships, entity: EntityName<object>) {
    this.#memberships = memberships;
    this.#entity = entity;
    memberships.invitations.add(entity);
  }

  /** Returns the id of the organization of an invitation, or of the data of a new one. */
  organizationOf(record: object): unknown {
    return this.#memberships.organizationOf(record);
  }

  /** Throws Forbidden if the user may not give the role of an invitation. */
  async requireGrants(request: FastifyRequest, invitation: object): Promise<void> {
    const { role } = invitation as Invitation;
    await this.#memberships.requireGrants(request, this.organizationOf(invitation), role);
  }

  /** Throws TargetObjectAlreadyExist if an address belongs to a member. Deletes an expired invitation of the address. */
  async makeRoom(request: FastifyRequest, organization: unknown, email: string): Promise<void> {
    const { em } = request;
    const { membership, name } = this.#memberships.options;
    const members = QuerySet.of(em, membership).filter({
      [`${name}__id`]: organization,
      [`account__${accountNamesOf(request).email}`]: email,
    });
    if (await members.exists()) throw isMember();
    await this.delete(em, { [name]: organization, email, expires_at: { $lte: new Date() } });
  }

  /** Deletes invitations, and returns their number. */
  delete(em: EntityManager, where: object): Promise<number> {
    return em.nativeDelete(this.#entity, where);
  }

  /**
   * Sends the mail. Throws TooManyRequests if the address got, or the user has sent, as many mails as allowed, and
   * ServiceUnavailable if the mail could not be sent.
   */
  async send(request: FastifyRequest, invitation: Invitation, { write, maxPerDay }: InvitationMail): Promise<void> {
    const { id, email, role } = invitation;
    const organization = this.organizationOf(invitation);
    const sender = { id: requireUser(request).id, maxPerDay };
    const text = () => write({ id, email, role, organization }, request);
    await mailsFor(request).send(request, email, text, sender);
    const fields = { ...securityEvent(request, 'auth.member_invited'), ...this.eventFields(invitation) };
    request.log.info(fields, 'somebody was invited to an organization');
  }

  /** Deletes a new invitation whose mail was not sent. */
  async discard(request: FastifyRequest, { id }: Invitation): Promise<void> {
    const em = request.em.fork();
    await retryLost(em, () => this.delete(em, { id }));
  }

  /**
   * Makes the user a member, and deletes the invitation. Of several simultaneous calls one succeeds; the others, and
   * those after a revocation, throw NotFound.
   */
  async accept(request: FastifyRequest, invitation: Invitation): Promise<void> {
    const { em } = request;
    const { id, email, role, invited_by } = invitation;
    const organization = this.organizationOf(invitation);
    if (!(await this.#memberships.hasAddress(request, requireUser(request).id, email))) throw new NotFound();
    if (!(await this.#memberships.lock(em, organization))) throw new NotFound();
    if ((await this.delete(em, { id, email, expires_at: { $gt: new Date() } })) === 0) throw new NotFound();
    if ((await this.#memberships.roleIn(request, organization)) !== undefined) return;
    const inviter = await this.#memberships.roleOf(request, organization, invited_by.id);
    if (inviter === undefined || !this.#memberships.invites(inviter, role)) throw isVoid();
    const { membership, name } = this.#memberships.options;
    em.create(membership, { [name]: organization, account: requireUser(request).id, role } as never);
    await em.flush();
    this.note(request, 'auth.member_invitation_accepted', invitation, 'an invitation to an organization was accepted');
  }

  /** Makes the user the person who invites, until a new time. Throws NotFound if the invitation was used meanwhile. */
  async renew(request: FastifyRequest, { id, email }: Invitation, expires_at: Date): Promise<void> {
    const { em } = request;
    const data = { expires_at, invited_by: requireUser(request).id };
    const count = await retryLost(em, () => em.nativeUpdate(this.#entity, { id, email }, data as never));
    if (count === 0) throw new NotFound();
  }

  /** Notes a security event of a write that is not committed yet. */
  note(request: FastifyRequest, event: string, invitation: Invitation, message: string): void {
    noteEvent(request, event, this.eventFields(invitation), message);
  }

  eventFields(invitation: Invitation): object {
    return { invitation: invitation.id, organization: this.organizationOf(invitation), role: invitation.role };
  }
}

/** Makes the view of the invitations of an organization, for its members. */
export function sentInvitations(
  memberships: Memberships,
  entity: EntityName<object>,
  given: OrganizationInvitationOptions,
  permissionClasses: readonly PermissionClass[],
): unknown {
  const { mail, expiry } = resolveOptions(given);
  const invitations = new OrganizationInvitations(memberships, entity);
  const created = new MailedRecords<Invitation>();
  return class ReadyInvitationViewSet extends viewClass(entity, sentOptions(entity, expiry, permissionClasses), {}) {
    [CHECK_AUTH](auth: object, orm: Pick<MikroORM, 'getMetadata'>): void {
      mailsIn(auth);
      memberships.checkEntities(orm, entity);
    }

    resend = action(
      {
        methods: ['post'],
        detail: true,
        // The mail is sent outside of a transaction, so that no connection waits for it.
        transaction: false,
        responses: { 204: Type.Null() },
        summary: 'Send an invitation again',
        description: 'It is then valid for the full time again, and you are the person who invites.',
      },
      async (request, reply: FastifyReply) => {
        const invitation = (await this.getObject(request)) as Invitation;
        await invitations.requireGrants(request, invitation);
        await invitations.send(request, invitation, mail);
        await invitations.renew(request, invitation, expiry());
        reply.code(204);
        return null;
      },
    );

    override async create(request: FastifyRequest, reply: FastifyReply): Promise<object> {
      return created.create(request, {
        create: () => super.create(request, reply),
        send: (invitation) => invitations.send(request, invitation, mail),
        discard: (invitation) => invitations.discard(request, invitation),
      });
    }

    override async performCreate(request: FastifyRequest, data: never): Promise<object> {
      const email = normalizeEmail((data as Invitation).email);
      await invitations.makeRoom(request, invitations.organizationOf(data), email);
      const invitation = await super.performCreate(request, { ...(data as object), email });
      // Checked only now, because the role may be the default of its column. An error rolls the write back.
      await invitations.requireGrants(request, invitation);
      created.note(request, invitation as Invitation);
      return invitation;
    }

    override async performDestroy(request: FastifyRequest, invitation: never): Promise<void> {
      await invitations.requireGrants(request, invitation);
      const message = 'an invitation to an organization was revoked';
      invitations.note(request, 'auth.member_invitation_revoked', invitation, message);
      await super.performDestroy(request, invitation);
    }
  };
}

/** Makes the view of the invitations that the user has received: to accept, and to decline by DELETE. */
export function receivedInvitations(memberships: Memberships, entity: EntityName<object>, shown: string): unknown {
  const { name } = memberships.options;
  const invitations = new OrganizationInvitations(memberships, entity);
  const options = {
    read: readShape(
      entity,
      ['id', 'role', 'expires_at'] as never[],
      { organization: `${name}.${shown}`, invited_by: 'invited_by.name' } as never,
    ),
    operations: ['list', 'retrieve', 'destroy'],
    permissionClasses: [IsAuthenticated.and(invitedTo(memberships)), IsSafeMethodOnly.or(HasNoScopes)],
    description: 'The invitations to organizations that you have received.',
  };
  return class ReceivedInvitationViewSet extends viewClass(entity, options, {}) {
    accept = action(
      {
        methods: ['post'],
        detail: true,
        // The events are logged after the commit.
        transaction: false,
        responses: { 204: Type.Null() },
        summary: 'Accept an invitation',
        description:
          'Makes you a member of the organization. 409 if the person who invited you may not do so any more.',
      },
      async (request, reply: FastifyReply) => {
        await logNoted(request, async () => invitations.accept(request, (await this.getObject(request)) as Invitation));
        reply.code(204);
        return null;
      },
    );

    override async performDestroy(request: FastifyRequest, invitation: never): Promise<void> {
      const message = 'an invitation to an organization was declined';
      invitations.note(request, 'auth.member_invitation_declined', invitation, message);
      await super.performDestroy(request, invitation);
    }
  };
}

/** Shows users the open invitations to the address of their account. */
function invitedTo(memberships: Memberships): PermissionClass {
  return class IsInvited extends Permission {
    override scope(request: FastifyRequest, view: PermissionView) {
      const { email } = requireUser(request) as { readonly email?: unknown };
      if (typeof email !== 'string') {
        throw new ImproperlyConfigured(`${view.name}: the user of a request must have "email", a text`);
      }
      const {
        deletedAt,
        options: { name },
      } = memberships;
      const existing = deletedAt === undefined ? {} : { [name]: { [deletedAt]: null } };
      const open = { email: normalizeEmail(email), expires_at: { $gt: new Date() }, ...existing };
      return matching<Invitation>(view.meta!, open);
    }
  };
}

/** Throws ImproperlyConfigured with the option, the expected value and the given one. */
function resolveOptions(given: OrganizationInvitationOptions) {
  checkOptionNames(OWNER, given, ['email', 'lifetimeHours', 'maxPerDay']);
  const { email: write, lifetimeHours } = given;
  if (typeof write !== 'function') throw wrongOption(OWNER, 'email', 'a function', write);
  const lifetimeMs = lifetimeMsOf(OWNER, lifetimeHours);
  const maxPerDay = maxPerDayOf(OWNER, given.maxPerDay);
  return { mail: { write, maxPerDay }, expiry: () => new Date(Date.now() + lifetimeMs) };
}

function sentOptions(
  entity: EntityName<object>,
  expiry: () => Date,
  permissionClasses: readonly PermissionClass[],
): object {
  const fields = ['id', 'email', 'role', 'expires_at'] as never[];
  return {
    read: readShape(entity, fields, { invited_by: 'invited_by.name' } as never),
    write: writeShape(entity, ['role'] as never[], { email: EmailAddress } as never),
    fill: { invited_by: (request: FastifyRequest) => requireUser(request).id, expires_at: expiry },
    operations: ['list', 'create', 'retrieve', 'destroy'],
    filterFields: { role: 'role' },
    permissionClasses,
    description: 'The invitations to an organization that nobody has accepted or declined yet.',
  };
}

function isMember(): TargetObjectAlreadyExist {
  const details = [{ in: 'body', path: '/email', message: 'belongs to a member' }] as const;
  return new TargetObjectAlreadyExist('The person is a member already', { details });
}

function isVoid(): TargetObjectAlreadyExist {
  return new TargetObjectAlreadyExist('The person who invited you may not do so any more');
}
