import type { JSX } from 'preact';
import type { Api, Operation, Resource } from './api-model.ts';
import { useDraft } from './drafts.ts';
import { send } from './exchanges.ts';
import { here } from './location.ts';
import { notice } from './notice.tsx';
import { bodyOf } from './request-body.ts';
import { SchemaForm } from './schema-form.tsx';
import { texts } from '../src/texts.ts';

interface CreateProps {
  readonly api: Api;
  readonly resource: Resource;
  /** The path that the record is sent to. */
  readonly path: string;
  readonly create: Operation;
  /** Is called with the path of the new record, if the API tells it, unless somebody has gone on meanwhile. */
  readonly onCreated: (place: string | undefined) => void;
}

/** The form of a new record. */
export function CreateForm({ api, resource, path, create, onCreated }: CreateProps): JSX.Element {
  const draft = useDraft(`create ${path}`, undefined);
  return (
    <SchemaForm
      api={api}
      schema={create.body?.schema ?? {}}
      purpose="new"
      draft={draft}
      submitLabel={texts.create(resource.singular)}
      onSubmit={async (values) => {
        const target = here.get();
        const { headers } = await send({ operation: create, url: path, body: bodyOf(create, values) });
        draft.settle(draft, undefined);
        notice.set(texts.created(resource.singular));
        const place = headers.get('location');
        // Whoever has gone on meanwhile is not called back.
        if (here.get() === target) onCreated(place === null ? undefined : new URL(place, location.href).pathname);
      }}
    />
  );
}
