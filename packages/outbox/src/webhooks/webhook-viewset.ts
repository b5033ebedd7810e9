import {
  action,
  checkOptionNames,
  HttpError,
  ModelViewSet,
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
import { urlProblem } from './public-address.ts';
import { newSecret } from './signature.ts';
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
  /** True: allows HTTP and private addresses, as in `webhooks()`. Default: false. */
  readonly development?: boolean;
}

const shown = readShape(WebhookSubscription, ['id', 'url', 'is_enabled', 'disabled_reason', 'owner', 'created_at'], {
  event_types: Type.Array(Type.String()),
});

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
    'Addresses that are told of events, by Standard Webhooks. The answers to the creation and to a rotation have the secret, and no other has it.',
} as const;

/** Makes the action `rotate`. `find` returns the webhook of a request. */
const rotateBy = (find: (request: RecordRequest) => Promise<WebhookSubscription>) =>
  action(
    {
      detail: true,
      methods: ['post'],
      summary: 'Give a webhook a new secret',
      description: 'The answer has the secret. The one before it signs too, for a day. All earlier ones end at once.',
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

interface WebhookActions {
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
  checkOptionNames('WebhookViewSet', options, ['permissionClasses', 'owner', 'development']);
  const { permissionClasses, owner = ownerByUser, development = false } = options;
  checkPermissionClasses('WebhookViewSet', permissionClasses);
  if (typeof owner !== 'function') throw wrongOption('WebhookViewSet', 'owner', 'a function', owner);
  if (typeof development !== 'boolean') {
    throw wrongOption('WebhookViewSet', 'development', 'true or false', development);
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
      const own = owner(request);
      return own === null ? all : all.filter({ owner: own });
    }

    rotate = rotateBy((request) => this.getObject(request));

    override async performUpdate(request: FastifyRequest, webhook: WebhookSubscription, data: never) {
      const { is_enabled: isEnabled = webhook.is_enabled } = data as { readonly is_enabled?: boolean };
      // Set before the flush, so that the response shows it.
      if (isEnabled) webhook.disabled_reason = null;
      return super.performUpdate(request, webhook, data);
    }
  }
  return ReadyWebhookViewSet;
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
