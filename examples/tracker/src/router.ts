import { type FileStore, Router } from '@viewset/core';
import { attachmentViewSet } from './attachment.ts';
import { CommentViewSet } from './comment.ts';
import { LabelViewSet } from './label.ts';
import { MemberViewSet, PersonViewSet } from './member.ts';
import { ProjectViewSet } from './project.ts';
import { AllTicketViewSet, TicketViewSet } from './ticket.ts';

/** The views of the tracker by their paths. */
export const trackerRouter = (store: FileStore) =>
  new Router({ prefix: 'api' })
    .register('projects', ProjectViewSet)
    .register('projects/:project/members', MemberViewSet)
    .register('projects/:project/tickets', TicketViewSet)
    .register('projects/:project/tickets/:ticket/comments', CommentViewSet)
    .register('projects/:project/tickets/:ticket/attachments', attachmentViewSet(store))
    .register('tickets', AllTicketViewSet)
    .register('people', PersonViewSet)
    .register('labels', LabelViewSet)
    .register('labels/:label/tickets', AllTicketViewSet, { parent: 'labels' });

/** The type of the API, for `createClient<Api>()` of `@viewset/client`. */
export type Api = ReturnType<typeof trackerRouter>;
