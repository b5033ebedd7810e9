import {
  action,
  afterCommit,
  checkOptionNames,
  ModelViewSet,
  type PermissionClass,
  type QuerySet,
  readShape,
  type RecordRequest,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { OutboxEvent } from '../outbox-event.ts';
import { checkPermissionClasses, type ReadyViewClass } from '../ready-view.ts';
import { wakeWorkers } from '../worker/wake.ts';

/** The options of `DeadLetterViewSet`. */
export interface DeadLetterOptions {
  /** Who may list dead letters with their payloads, send and delete them. Usually administrators. Required. */
  readonly permissionClasses: readonly PermissionClass[];
}

/** The most dead letters that one request deletes. */
const MAX_DELETED = 100;

const brief = readShape(OutboxEvent, ['id', 'type', 'subject', 'created_at', 'attempts', 'last_error']);
const OPTIONS = {
  read: { default: brief.extend(['payload']), list: brief },
  operations: ['list', 'retrieve', 'destroy'],
  bulk: { destroy: MAX_DELETED },
  searchFields: ['last_error'],
  filterFields: { type: 'type', subject: 'subject' },
  orderingFields: { created_at: 'created_at' },
  ordering: ['-created_at'],
  description: 'The events that could not be delivered. Send one again once its cause is mended, or delete it.',
} as const;

/** Makes the action `sendAgain`. `find` returns the event of a request. */
const sendAgainBy = (find: (request: RecordRequest) => Promise<OutboxEvent>) =>
  action({ detail: true, methods: ['post'], responses: { 204: null } }, async (request, reply) => {
    const event = await find(request);
    Object.assign(event, { status: 'waiting', attempts: 0, due_at: new Date() });
    await afterCommit(request, () => wakeWorkers(request.em.config, event.lane));
    reply.code(204);
  });

interface DeadLetterActions {
  /** `POST …/:pk/send-again` delivers the event again, as if it had never failed. */
  sendAgain: ReturnType<typeof sendAgainBy>;
}

/**
 * Makes a view of the dead letters for administrators. They can list them, delete them, and send them again with the
 * action `sendAgain`. The explorer shows the view like any other.
 *
 * @throws ImproperlyConfigured without `permissionClasses`
 * @example
 * class DeadLetters extends DeadLetterViewSet({ permissionClasses: [IsRoleAdminUser] }) {}
 * router.register('dead-letters', DeadLetters);
 * // POST /dead-letters/0198…/send-again → 204
 */
export function DeadLetterViewSet(
  options: DeadLetterOptions,
): ReadyViewClass<OutboxEvent, typeof OPTIONS, DeadLetterActions> {
  checkOptionNames('DeadLetterViewSet', options, ['permissionClasses']);
  const { permissionClasses } = options;
  checkPermissionClasses('DeadLetterViewSet', permissionClasses);
  class ReadyDeadLetterViewSet extends ModelViewSet(OutboxEvent, { ...OPTIONS, permissionClasses }) {
    override getQueryset(request: FastifyRequest): QuerySet<OutboxEvent> {
      return super.getQueryset(request).filter({ status: 'dead' });
    }

    sendAgain = sendAgainBy((request) => this.getObject(request));
  }
  return ReadyDeadLetterViewSet;
}
