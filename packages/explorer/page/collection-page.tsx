import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ActionButtons, ActionPanel } from './action-panel.tsx';
import { fillPath } from './api-model.ts';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { CreateForm } from './create-form.tsx';
import { here, hrefOf, navigate } from './location.ts';
import { isOffered } from './permissions.ts';
import { titleOfList } from './list-query.ts';
import { type CollectionProps, RecordTable } from './record-table.tsx';
import { session } from './session.ts';
import { NotOffered, Waiting } from './states.tsx';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { useFormState } from './use-form-state.ts';

/** A collection: a table of its records, or, as the fragment of the URL says, a new record or an action. */
export function CollectionPage({ api, resource, path }: CollectionProps): JSX.Element {
  const { fragment, query } = useStore(here);
  const person = useStore(session);
  const actions = resource.collectionActions.filter((action) => isOffered(action, person, fillPath(action.path, path)));
  const isNew = resource.create !== undefined && fragment.has('new');
  const action = resource.collectionActions.find(({ id }) => id === fragment.get('action'));
  const form = useFormState(isNew ? resource.create : action, path);
  const formTitle = isNew ? texts.create(resource.singular) : (action?.summary ?? '');
  // A form does not take the place of a table in which somebody has begun to type.
  const isForm = form === 'shown' || form === 'undecided';
  const [isFound, setFound] = useState(true);
  const start = hrefOf(path, query, new URLSearchParams());
  return (
    <>
      <Breadcrumbs api={api} path={path} />
      <div class="heading">
        <h1>{isForm ? formTitle : titleOfList(resource, fragment)}</h1>
        <div class="buttons">
          {isForm ? (
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
      {form === 'undecided' && <Waiting isWaiting />}
      {form === 'shown' && isNew && (
        <CreateForm
          api={api}
          resource={resource}
          path={path}
          create={resource.create}
          onCreated={(place) => navigate(resource.retrieve === undefined ? path : (place ?? path))}
        />
      )}
      {form === 'shown' && !isNew && action !== undefined && (
        <ActionPanel key={action.id} api={api} action={action} path={path} />
      )}
      {!isForm && (
        <>
          {form === 'refused' && isFound && <NotOffered title={formTitle} />}
          {resource.description !== undefined && <p class="lead">{resource.description}</p>}
          <RecordTable api={api} resource={resource} path={path} onFound={setFound} />
        </>
      )}
    </>
  );
}
