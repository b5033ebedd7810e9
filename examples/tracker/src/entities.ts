import { defineEntity, p } from '@mikro-orm/core';
import { FileType } from '@viewset/core';
import { ListChange, ListVersion } from '@viewset/live';

const now = () => new Date();

const RoleSchema = defineEntity({
  name: 'Role',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
/** The role of an account in the tracker: `admin` or `user`. */
export class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);

const AccountSchema = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100).index(),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime(3).nullable(),
    memberships: () => p.oneToMany(Member).mappedBy('account'),
  },
});
export class Account extends AccountSchema.class {}
AccountSchema.setClass(Account);

const ProjectSchema = defineEntity({
  name: 'Project',
  properties: {
    id: p.integer().primary(),
    key: p.string().length(20).unique(),
    name: p.string().length(100),
    description: p.text().default(''),
    created_at: p.datetime(3).onCreate(now).index(),
    members: () => p.oneToMany(Member).mappedBy('project'),
    tickets: () => p.oneToMany(Ticket).mappedBy('project'),
  },
});
export class Project extends ProjectSchema.class {}
ProjectSchema.setClass(Project);

/** The permissions of a member in a project: owners may do everything, members write tickets, guests read. */
export const PROJECT_ROLES = ['owner', 'member', 'guest'] as const;

const MemberSchema = defineEntity({
  name: 'Member',
  properties: {
    id: p.integer().primary(),
    project: () => p.manyToOne(Project).index().deleteRule('cascade'),
    account: () => p.manyToOne(Account).index().deleteRule('cascade'),
    role: p.enum(PROJECT_ROLES).default('member').index(),
  },
  uniques: [{ properties: ['project', 'account'] }],
});
export class Member extends MemberSchema.class {}
MemberSchema.setClass(Member);

const LabelSchema = defineEntity({
  name: 'Label',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(30).unique(),
    color: p.string().length(7).default('#8a8f98'),
    tickets: () => p.manyToMany(Ticket).mappedBy('labels'),
  },
});
export class Label extends LabelSchema.class {}
LabelSchema.setClass(Label);

const TicketSchema = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    version: p.integer().version(),
    project: () => p.manyToOne(Project).index().deleteRule('cascade'),
    title: p.string().length(200),
    description: p.text().default(''),
    status: p.enum(['open', 'doing', 'done']).default('open').index(),
    priority: p.integer().default(3).index(),
    starts_on: p.date().nullable(),
    due_on: p.date().nullable().index(),
    minutes_spent: p.integer().default(0),
    author: () => p.manyToOne(Account).deleteRule('restrict'),
    assignee: () => p.manyToOne(Account).nullable().deleteRule('set null'),
    created_at: p.datetime(3).onCreate(now),
    labels: () => p.manyToMany(Label),
    steps: () => p.oneToMany(Step).mappedBy('ticket'),
    comments: () => p.oneToMany(Comment).mappedBy('ticket'),
    attachments: () => p.oneToMany(Attachment).mappedBy('ticket'),
  },
});
export class Ticket extends TicketSchema.class {}
TicketSchema.setClass(Ticket);

const StepSchema = defineEntity({
  name: 'Step',
  properties: {
    id: p.integer().primary(),
    ticket: () => p.manyToOne(Ticket).index().deleteRule('cascade'),
    text: p.string().length(200),
    is_done: p.boolean().default(false),
  },
});
export class Step extends StepSchema.class {}
StepSchema.setClass(Step);

const CommentSchema = defineEntity({
  name: 'Comment',
  properties: {
    id: p.integer().primary(),
    ticket: () => p.manyToOne(Ticket).index().deleteRule('cascade'),
    author: () => p.manyToOne(Account).deleteRule('restrict'),
    text: p.text(),
    created_at: p.datetime(3).onCreate(now).index(),
  },
});
export class Comment extends CommentSchema.class {}
CommentSchema.setClass(Comment);

const AttachmentSchema = defineEntity({
  name: 'Attachment',
  properties: {
    id: p.integer().primary(),
    ticket: () => p.manyToOne(Ticket).index().deleteRule('cascade'),
    author: () => p.manyToOne(Account).deleteRule('restrict'),
    file: p.type(FileType),
    created_at: p.datetime(3).onCreate(now),
  },
});
export class Attachment extends AttachmentSchema.class {}
AttachmentSchema.setClass(Attachment);

export const ENTITIES = [
  Role,
  Account,
  Project,
  Member,
  Label,
  Ticket,
  Step,
  Comment,
  Attachment,
  ListChange,
  ListVersion,
];
