import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const Role = defineEntity({
  name: 'Role',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50).unique(),
  },
});
export type Role = InferEntity<typeof Role>;

export const Account = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime(3).nullable(),
    created_at: p.datetime(3).onCreate(() => new Date()),
  },
});
export type Account = InferEntity<typeof Account>;

export const ApiKey = defineEntity({
  name: 'ApiKey',
  properties: {
    id: p.string().length(16).primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    name: p.string().length(100),
    hash: p.string().length(43),
    scopes: p.json<string[]>().nullable(),
    expires_at: p.datetime(3).nullable(),
    last_used_at: p.datetime(3).nullable(),
    created_at: p.datetime(3),
  },
});
export type ApiKey = InferEntity<typeof ApiKey>;

export const TwoFactor = defineEntity({
  name: 'TwoFactor',
  properties: {
    id: p.integer().primary(),
    account: () => p.oneToOne(Account).deleteRule('cascade'),
    secret: p.string().length(100),
    last_step: p.integer().nullable(),
    recovery_codes: p.string().length(500),
    confirmed_at: p.datetime(3).nullable(),
  },
});
export type TwoFactor = InferEntity<typeof TwoFactor>;

export const Session = defineEntity({
  name: 'Session',
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    token_hash: p.string().length(43).hidden(),
    created_at: p.datetime(3),
    last_used_at: p.datetime(3),
    expires_at: p.datetime(3).index(),
    ip: p.string().length(45),
    user_agent: p.string().length(255).nullable(),
  },
});
export type Session = InferEntity<typeof Session>;

export const Passkey = defineEntity({
  name: 'Passkey',
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    name: p.string().length(100),
    credential_id: p.string().length(1364).unique(),
    public_key: p.string().length(1024),
    counter: p.bigint('number'),
    transports: p.json<string[]>().nullable(),
    created_at: p.datetime(3),
    last_used_at: p.datetime(3).nullable(),
  },
});
export type Passkey = InferEntity<typeof Passkey>;

export const Identity = defineEntity({
  name: 'Identity',
  properties: {
    id: p.integer().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    provider: p.string().length(50),
    subject: p.string().length(255),
  },
  uniques: [{ properties: ['provider', 'subject'] }],
});
export type Identity = InferEntity<typeof Identity>;

/** A role that carries permissions. */
export const PermissionRole = defineEntity({
  name: 'Role',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50).unique(),
    permissions: p.json<readonly string[]>().nullable(),
  },
});

/** An account that may have several roles. */
export const RolesAccount = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(PermissionRole).nullable().deleteRule('restrict'),
    roles: () => p.manyToMany(PermissionRole),
    is_active: p.boolean().default(true),
    last_login: p.datetime(3).nullable(),
  },
});
export type RolesAccount = InferEntity<typeof RolesAccount>;

/** A session of such an account. */
export const RolesSession = defineEntity({
  name: 'Session',
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(RolesAccount).deleteRule('cascade'),
    token_hash: p.string().length(43).hidden(),
    created_at: p.datetime(3),
    last_used_at: p.datetime(3),
    expires_at: p.datetime(3),
    ip: p.string().length(45),
    user_agent: p.string().length(255).nullable(),
  },
});

/** An account that may be invited, with a role that carries permissions. */
export const InvitedAccount = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(PermissionRole).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime(3).nullable(),
    invitation_hash: p.string().length(43).nullable().hidden(),
    invited_until: p.datetime(3).nullable(),
  },
});
export type InvitedAccount = InferEntity<typeof InvitedAccount>;

/** An organization whose members have roles. */
export const Club = defineEntity({
  name: 'Club',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    deleted_at: p.datetime(3).nullable(),
    members: () => p.oneToMany(ClubMember).mappedBy('club'),
    notes: () => p.oneToMany(ClubNote).mappedBy('club'),
    invitations: () => p.oneToMany(ClubInvitation).mappedBy('club'),
  },
});
export const ClubMember = defineEntity({
  name: 'ClubMember',
  properties: {
    id: p.integer().primary(),
    club: () => p.manyToOne(Club).deleteRule('cascade'),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    role: p.enum(['owner', 'manager', 'writer', 'guest']).default('guest'),
  },
  uniques: [{ properties: ['club', 'account'] }],
});
export const ClubNote = defineEntity({
  name: 'ClubNote',
  properties: {
    id: p.integer().primary(),
    club: () => p.manyToOne(Club).deleteRule('cascade'),
    text: p.string().length(100),
  },
});
export const ClubInvitation = defineEntity({
  name: 'ClubInvitation',
  properties: {
    id: p.integer().primary(),
    club: () => p.manyToOne(Club).deleteRule('cascade'),
    email: p.string().length(255),
    role: p.enum(['owner', 'manager', 'writer', 'guest']).default('guest'),
    invited_by: () => p.manyToOne(Account).deleteRule('cascade'),
    expires_at: p.datetime(3),
  },
  uniques: [{ properties: ['club', 'email'] }],
});
