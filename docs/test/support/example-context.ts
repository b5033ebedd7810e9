/** The names that the examples of docstrings may use without saying where they come from. */
import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { defineEntity, p } from '@mikro-orm/core';
import type { MikroORM as SqliteOrm } from '@mikro-orm/sqlite';
import {
  file,
  type FileStore,
  FileType,
  type HealthRegistry,
  ModelViewSet,
  type Projection,
  type QueryParameters,
  type QuerySet,
  readShape,
  Router,
  type Store,
  writeShape,
} from '@viewset/core';
import type { Backend } from '@viewset/core/backend';
import { BatchViewSet } from '@viewset/batch';
import type { EmailSender, Organizations } from '@viewset/auth';
import type { Client, ErrorDetail } from '@viewset/client';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Redis as RedisClient } from 'ioredis';
import type { IncomingMessage } from 'node:http';

export { Disk } from 'flydrive';
export { FSDriver } from 'flydrive/drivers/fs';
export { S3Driver } from 'flydrive/drivers/s3';
export { statfs } from 'node:fs/promises';
export { MikroORM } from '@mikro-orm/sqlite';
export { fastify } from 'fastify';
export { Redis } from 'ioredis';
export { type TObject, Type } from 'typebox';
export type { FastifyReply, FastifyRequest };

const RoleSchema = defineEntity({
  name: 'Role',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
export class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);

const AccountSchema = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime().nullable(),
    settings: p.json<{ theme: string }>().nullable(),
  },
});
export class Account extends AccountSchema.class {}
const SessionSchema = defineEntity({
  name: 'Session',
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account),
    token_hash: p.string(),
    created_at: p.datetime(),
    last_used_at: p.datetime(),
    expires_at: p.datetime(),
    ip: p.string(),
    user_agent: p.string().nullable(),
  },
});
export class Session extends SessionSchema.class {}
SessionSchema.setClass(Session);
AccountSchema.setClass(Account);

const ProductSchema = defineEntity({
  name: 'Product',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200),
    price: p.decimal('number').precision(10).scale(2),
    stock: p.integer().default(0),
    deleted_at: p.datetime().nullable(),
    owner: () => p.manyToOne(Account),
  },
});
export class Product extends ProductSchema.class {
  displayName(): string {
    return this.name.toUpperCase();
  }
}
ProductSchema.setClass(Product);

const OrderSchema = defineEntity({
  name: 'Order',
  properties: { id: p.integer().primary(), owner: () => p.manyToOne(Account) },
});
export class Order extends OrderSchema.class {}
OrderSchema.setClass(Order);

const AuthorSchema = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    books: () => p.oneToMany(Book).mappedBy('author'),
  },
});
export class Author extends AuthorSchema.class {}
AuthorSchema.setClass(Author);

const TagSchema = defineEntity({ name: 'Tag', properties: { id: p.integer().primary(), name: p.string() } });
export class Tag extends TagSchema.class {}
TagSchema.setClass(Tag);

const BookSchema = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    author: () => p.manyToOne(Author),
    tags: () => p.manyToMany(Tag),
  },
});
export class Book extends BookSchema.class {}
BookSchema.setClass(Book);

const TicketSchema = defineEntity({
  name: 'Ticket',
  properties: { id: p.integer().primary(), title: p.string(), attachment: p.type(FileType).nullable() },
});
export class Ticket extends TicketSchema.class {}
TicketSchema.setClass(Ticket);

const ProjectSchema = defineEntity({
  name: 'Project',
  properties: { id: p.integer().primary(), name: p.string(), members: () => p.oneToMany(Member).mappedBy('project') },
});
export class Project extends ProjectSchema.class {}
ProjectSchema.setClass(Project);

const MemberSchema = defineEntity({
  name: 'Member',
  properties: {
    id: p.integer().primary(),
    project: () => p.manyToOne(Project),
    account: () => p.manyToOne(Account),
    role: p.enum(['owner', 'member', 'guest']),
  },
});
export class Member extends MemberSchema.class {}
MemberSchema.setClass(Member);

const InvitationSchema = defineEntity({
  name: 'Invitation',
  properties: {
    id: p.integer().primary(),
    project: () => p.manyToOne(Project),
    email: p.string(),
    role: p.enum(['owner', 'member', 'guest']),
    expires_at: p.datetime(),
    invited_by: () => p.manyToOne(Account),
  },
});
export class Invitation extends InvitationSchema.class {}
InvitationSchema.setClass(Invitation);

const TaskSchema = defineEntity({
  name: 'Task',
  properties: { id: p.integer().primary(), title: p.string(), project: () => p.manyToOne(Project) },
});
export class Task extends TaskSchema.class {}
TaskSchema.setClass(Task);
export declare const projects: Organizations<Project, Member, 'owner' | 'member' | 'guest'>;

export const read = readShape(Product, ['id', 'name', 'price']);
export const write = writeShape(Product, ['name', 'price']);
export class ProductViewSet extends ModelViewSet(Product, {
  read,
  write,
  searchFields: ['name'],
  filterFields: { min_price: 'price__gte' },
  orderingFields: { price: 'price' },
}) {}
export class AccountViewSet extends ModelViewSet(Account, { read: readShape(Account, ['id', 'name']) }) {}
export declare const uploads: FileStore;
class TicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'title', 'attachment']),
  write: writeShape(Ticket, ['title'], {
    attachment: file({ store: uploads, maxBytes: 1_000_000, types: ['image/*'], direct: true }),
  }),
}) {}
class BatchOfAll extends BatchViewSet() {}
export const shopRouter = () =>
  new Router({ prefix: 'api' })
    .register('products', ProductViewSet)
    .register('tickets', TicketViewSet)
    .register('batch', BatchOfAll);
export type Api = ReturnType<typeof shopRouter>;

export declare const api: Client<Api>;
export declare const email: string;
export declare const password: string;
export declare const attachment: Blob;
export declare const bar: { value: number };
export declare const app: FastifyInstance;
export declare const em: EntityManager;
export declare const orm: SqliteOrm;
export declare const request: FastifyRequest;
export declare const reply: FastifyReply;
export declare const redis: RedisClient;
export declare const health: HealthRegistry;
export declare const inject: (hand: (raw: IncomingMessage) => void) => Promise<unknown>;
export declare const mailer: EmailSender;
export declare const meta: EntityMetadata<Product>;
export declare const accountMeta: EntityMetadata<Account>;
export declare const parameters: QueryParameters;
export declare const products: QuerySet<Product>;
export declare const projection: Projection<{ id: number }>;
export declare const provider: { send(mail: { to: string; subject: string; text: string }): Promise<void> };
export declare const rateLimit: FastifyPluginAsync<{ max: number; timeWindow: number; store: unknown }>;
export declare const router: Router;
export declare const product: { name: string; price: number };
export declare const secret: string;
export declare const session: { token: string };
export declare const store: Store;
export declare const url: string;
export declare const view: ProductViewSet;
/** Values of the application, of whatever the example is about. */
export declare const key: string;
export declare const number: string;
export declare const digest: string;
export declare const address: string;
export declare const keyword: string;
export declare const results: { id: number }[];
export declare function readPage(parameters: QueryParameters): number;
export declare function readSize(parameters: QueryParameters): number;
export declare function show(details: readonly ErrorDetail[]): void;
export declare function makeBackend(): Backend;
