import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ActionButtons, ActionPanel } from './action-panel.tsx';
import { fillPath, type Operation } from './api-model.ts';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { send } from './exchanges.ts';
import { here, hrefOf, navigate } from './location.ts';
import { notice } from './notice.tsx';
import { isOffered } from './permissions.ts';
import { type CollectionProps, RecordTable } from './record-table.tsx';
import { bodyOf } from './request-body.ts';
import { SchemaForm } from './schema-form.tsx';
import { session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { useShown } from './use-shown.ts';

/** A collection: a table of its records, or, as the fragment of the URL says, a new record or an action. */
export function CollectionPage({ api, resource, path }: CollectionProps): JSX.Element {
  const { fragment, query } = useStore(here);
  const person = useStore(session);
  const actions = resource.collectionActions.filter((action) => isOffered(action, person, fillPath(action.path, path)));
  const wanted = resource.collectionActions.find(({ id }) => id === fragment.get('action'));
  const action = useShown(wanted !== undefined, actions.includes(wanted!)) ? wanted : undefined;
  const isNew = useShown(fragment.has('new'), isOffered(resource.create, person, path));
  const [isFound, setFound] = useState(true);
  const start = hrefOf(path, query, new URLSearchParams());
  return (
    <>
      <Breadcrumbs api={api} path={path} />
      <div class="heading">
        <h1>{isNew ? texts.create(resource.singular) : action === undefined ? resource.name : action.summary}</h1>
        <div class="buttons">
          {isNew || action !== undefined ? (
            <a class="button" href={start}>
              {texts.back}
            </a>
          ) : (
            isFound && (
              <>
                <ActionButtons actions={actions} path={path} />
                {isOffered(resource.create, person, path) && (
                  <a class="button primary" href={hrefOf(path, query, new URLSearchParams({ new: '' }))}>
                    {texts.create(resource.singular)}
                  </a>
                )}
              </>
            )
          )}
        </div>
      </div>
      {isNew && <CreateForm api={api} resource={resource} path={path} create={resource.create!} />}
      {action !== undefined && <ActionPanel key={action.id} api={api} action={action} path={path} />}
      {!isNew && action === undefined && <RecordTable api={api} resource={resource} path={path} onFound={setFound} />}
    </>
  );
}

function CreateForm({ api, resource, path, create }: CollectionProps & { readonly create: Operation }): JSX.Element {
  return (
    <SchemaForm
      api={api}
      schema={create.body?.schema ?? {}}
      purpose="new"
      submitLabel={texts.create(resource.singular)}
      onSubmit={async (values) => {
        const { headers } = await send({ operation: create, url: path, body: bodyOf(create, values) });
        notice.set(texts.created(resource.singular));
        const place = headers.get('location');
        navigate(place !== null && resource.retrieve !== undefined ? new URL(place, location.href).pathname : path);
      }}
    />
  );
}
