import type { EntityManager } from '@mikro-orm/core';
import {
  action,
  afterCommit,
  checkOptionNames,
  HttpError,
  ModelViewSet,
  NotFound,
  type PermissionClass,
  type Problems,
  type QuerySet,
  readShape,
  type RecordRequest,
  requireUser,
  wrongOption,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { newEventId } from '../event-id.ts';
import { STORED } from '../outbox-event.ts';
import { checkPermissionClasses, type ReadyViewClass } from '../ready-view.ts';
import { isPattern } from '../worker/handlers.ts';
import { wakeWorkers } from '../worker/wake.ts';
import { urlProblem } from './public-address.ts';
import { newSecret } from './signature.ts';
import { endRest, sendAgain } from './subscription-state.ts';
import { WebhookSubscription } from './webhook-subscription.ts';

/** The options of `WebhookViewSet`. */
export interface WebhookViewOptions {
  /** Who may have webhooks. Required. */
  readonly permissionClasses: readonly PermissionClass[];
  /**
   * The owner of the webhooks that a request creates and sees. With null it sees all webhooks, and creates them without
   * an owner. Default: the id of the user.
   */
  readonly owner?: (request: FastifyRequest) => string | null;
  /**
   * The most webhooks of one owner. Another one gives 409. Requests at the same moment may exceed it, by their number at
   * most. An owner of null has no limit. Default: 20.
   */
  readonly maxPerOwner?: number;
  /** True: allows HTTP and private addresses, as in `webhooks()`. Default: false. */
  readonly development?: boolean;
}

const MAX_PER_OWNER = 20;

const shown = readShape(
  WebhookSubscription,
  ['id', 'url', 'is_enabled', 'disabled_reason', 'failing_since', 'rests_until', 'owner', 'created_at'],
  { event_types: Type.Array(Type.String()) },
);

/** How long the previous secret still signs, in milliseconds. */
const ROTATION_MS = 86_400_000;

const write = Type.Object({
  url: Type.String({ minLength: 1, maxLength: 2000 }),
  event_types: Type.Array(Type.String({ maxLength: 255 }), { minItems: 1, maxItems: 100 }),
  is_enabled: Type.Optional(Type.Boolean()),
});

const OPTIONS = {
  // Only the response to the create shows the secret.
  read: { default: shown, create: shown.extend(['secret']) },
  write,
  updateMethods: ['PATCH'],
  filterFields: { is_enabled: 'is_enabled', owner: 'owner' },
  orderingFields: { created_at: 'created_at' },
  ordering: ['-created_at'],
  description:
    'Addresses that receive events, by Standard Webhooks. Only the responses to the creation and to a rotation contain the secret.',
} as const;

/** Makes the action `rotate`. `find` returns the webhook of a request. */
const rotateBy = (find: (request: RecordRequest) => Promise<WebhookSubscription>) =>
  action(
    {
      detail: true,
      methods: ['post'],
      summary: 'Give a webhook a new secret',
      description:
        'The response has the new secret. For a day, requests are also signed with the previous secret. Earlier secrets end at once.',
      response: Type.Object({ secret: Type.String(), previous_secret_until: Type.String({ format: 'date-time' }) }),
    },
    async (request) => {
      const { id, secret: before } = await find(request);
      const until = new Date(Date.now() + ROTATION_MS);
      const secret = newSecret();
      const changes = { secret, previous_secret: before, previous_secret_until: until };
      // If two requests rotate at once, one fails; otherwise it would return a secret that signs nothing.
      const changed = await request.em.nativeUpdate(WebhookSubscription, { id, secret: before }, changes, STORED);
      if (changed === 0) {
        throw new HttpError(409, 'conflict', 'Another request has just given this webhook a new secret');
      }
      return { secret, previous_secret_until: until.toISOString() };
    },
  );

const sendAgainBody = Type.Object(
  {
    event: Type.Optional(Type.String({ minLength: 1, maxLength: 36, description: 'The webhook-id of one event.' })),
    since: Type.Optional(Type.String({ format: 'date-time', description: 'All dead letters since then.' })),
  },
  { minProperties: 1, maxProperties: 1 },
);

/** Makes the action `sendAgain`. `find` returns the webhook of a request. */
const sendAgainBy = (find: (request: RecordRequest) => Promise<WebhookSubscription>) =>
  action(
    {
      detail: true,
      methods: ['post'],
      summary: 'Send events to a webhook again',
      description: 'Sends one event, by its webhook-id, or all events since a time that could not be delivered.',
      body: sendAgainBody,
      response: Type.Object({ count: Type.Integer({ description: 'How many events are sent again.' }) }),
    },
    async (request) => {
      const subscription = await find(request);
      if (!subscription.is_enabled) throw new HttpError(409, 'conflict', 'The webhook is disabled');
      const count = await sendAgain(request.em, subscription, request.body);
      await afterCommit(request, () => wakeWorkers(request.em.config, 'deliveries'));
      if (count === 0 && request.body.event !== undefined) {
        throw new NotFound('The webhook has no such event that was sent or could not be delivered');
      }
      return { count };
    },
  );

interface WebhookActions {
  /**
   * `POST …/:pk/send-again` sends one event again, by its `webhook-id`, or all dead letters of the webhook since a time.
   * Delivered events are kept as long as the worker's `keepDeliveredMs`.
   */
  sendAgain: ReturnType<typeof sendAgainBy>;
  /**
   * `POST …/:pk/rotate` gives the webhook a new secret. The previous secret also signs for one day. Older ones end at
   * once.
   */
  rotate: ReturnType<typeof rotateBy>;
}

/**
 * Makes a view of webhooks for the customers of your API. Each customer sees and changes the webhooks of its owner.
 * Only two responses contain the secret: the one that creates the webhook, and the one of `rotate`. Setting
 * `is_enabled` to true sends later events again; events in between are not sent.
 *
 * @throws ImproperlyConfigured without `permissionClasses`
 * @example
 * class Webhooks extends WebhookViewSet({ permissionClasses: [IsAuthenticated] }) {}
 * router.register('webhooks', Webhooks);
 * // POST /webhooks {"url":"https://example.com/hook","event_types":["product.*"]} → 201 {"id":"0198…","secret":"whsec_…",…}
 */
export function WebhookViewSet(
  options: WebhookViewOptions,
): ReadyViewClass<WebhookSubscription, typeof OPTIONS, WebhookActions> {
  checkOptionNames('WebhookViewSet', options, ['permissionClasses', 'owner', 'maxPerOwner', 'development']);
  const { permissionClasses, owner = ownerByUser, maxPerOwner = MAX_PER_OWNER, development = false } = options;
  checkPermissionClasses('WebhookViewSet', permissionClasses);
  if (typeof owner !== 'function') throw wrongOption('WebhookViewSet', 'owner', 'a function', owner);
  if (typeof development !== 'boolean') {
    throw wrongOption('WebhookViewSet', 'development', 'true or false', development);
  }
  if (!(Number.isSafeInteger(maxPerOwner) && maxPerOwner > 0)) {
    throw wrongOption('WebhookViewSet', 'maxPerOwner', 'a whole number above 0', maxPerOwner);
  }
  class ReadyWebhookViewSet extends ModelViewSet(WebhookSubscription, {
    ...OPTIONS,
    permissionClasses,
    fill: {
      id: newEventId,
      secret: newSecret,
      owner,
      created_at: () => new Date(),
    },
    validate: (data, problems) => check(data, problems, development),
  }) {
    override getQueryset(request: FastifyRequest): QuerySet<WebhookSubscription> {
      const all = super.getQueryset(request);
      const ownerKey = owner(request);
      return ownerKey === null ? all : all.filter({ owner: ownerKey });
    }

    rotate = rotateBy((request) => this.getObject(request));
    sendAgain = sendAgainBy((request) => this.getObject(request));

    override async performCreate(request: FastifyRequest, data: never) {
      await checkCount(request.em, owner(request), maxPerOwner);
      return super.performCreate(request, data);
    }

    override async performUpdate(request: FastifyRequest, webhook: WebhookSubscription, data: never) {
      const { is_enabled: isEnabled = webhook.is_enabled, url } = data as {
        readonly is_enabled?: boolean;
        readonly url?: string;
      };
      // Set before the flush, so that the response shows it.
      if (isEnabled) webhook.disabled_reason = null;
      if ((isEnabled && !webhook.is_enabled) || (url !== undefined && url !== webhook.url)) {
        await endRest(request.em, webhook);
        await afterCommit(request, () => wakeWorkers(request.em.config, 'deliveries'));
      }
      return super.performUpdate(request, webhook, data);
    }
  }
  return ReadyWebhookViewSet;
}

/** Throws a 409 if an owner has as many webhooks as it may have. */
async function checkCount(em: EntityManager, owner: string | null, most: number): Promise<void> {
  if (owner === null) return;
  if ((await em.count(WebhookSubscription, { owner }, STORED)) < most) return;
  throw new HttpError(409, 'conflict', `An owner has at most ${most} webhooks`);
}

function ownerByUser(request: FastifyRequest): string {
  return String(requireUser(request).id);
}

/** Reports an address that webhooks cannot use, and types that no event can have. */
function check(
  { url, event_types: types = [] }: { readonly url?: string; readonly event_types?: readonly string[] },
  problems: Problems,
  isDevelopment: boolean,
): void {
  const problem = url === undefined ? undefined : urlProblem(url, isDevelopment);
  if (problem !== undefined) problems.add('/url', problem);
  for (const [index, type] of types.entries()) {
    if (isPattern(type)) continue;
    problems.add(`/event_types/${index}`, 'must be a type such as "product.created", "product.*" or "*"');
  }
}
