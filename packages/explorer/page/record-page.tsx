import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { ActionButtons, ActionPanel } from './action-panel.tsx';
import { type Api, fillPath, type Operation, type Resource } from './api-model.ts';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { CreateForm } from './create-form.tsx';
import { DeleteButton } from './delete-button.tsx';
import { useIsEntered } from './drafts.ts';
import { ExpandSwitches } from './expand-switches.tsx';
import { Facts } from './facts.tsx';
import { hasParameter, only } from './list-query.ts';
import { here, hrefOf } from './location.ts';
import { isForbidden, isOffered, isOfferedAfterLogin, isUndecided } from './permissions.ts';
import { editablePlace, writtenSchema } from './reference-href.ts';
import { isRow, type Row, titleOf } from './records.ts';
import { RelatedLists } from './related-lists.tsx';
import { propertiesOf } from './schema.ts';
import { session } from './session.ts';
import { NotOffered, Problem, Waiting } from './states.tsx';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { updateDraft, UpdateForm } from './update-form.tsx';
import { type Awaited, useAnswer } from './use-answer.ts';
import { useFormState } from './use-form-state.ts';
import { humanized, shortened } from './words.ts';

interface RecordProps {
  readonly api: Api;
  readonly resource: Resource;
  readonly path: string;
}

/** A record: a form of what may be changed, and everything else to be read. */
export function RecordPage({ api, resource, path }: RecordProps): JSX.Element {
  const { fragment, query } = useStore(here);
  const person = useStore(session);
  const { retrieve } = resource;
  const { row: read, tag, refusal, isWaiting, reload, restart } = useRecord(retrieve, path, only(query, ['expand']));
  // A form does not take the place of what was there to be read.
  const isUndecidedYet = isUndecided(resource.update, person, path);
  const row = isUndecidedYet ? undefined : read;
  const title = row === undefined ? humanized(resource.singular) : shortened(titleOf(resource, row), 200);
  const actions = resource.recordActions.filter((each) => isOffered(each, person, fillPath(each.path, path)));
  const wanted = resource.recordActions.find(({ id }) => id === fragment.get('action'));
  const form = useFormState(wanted, path);
  const isMissing = resource.isSingleton && resource.create !== undefined && refusal?.status === 404;
  const action = form === 'shown' ? wanted : undefined;
  // A record that is not there may be deleted and restorable: the API has told what it permits.
  const mayAct = row !== undefined || (refusal?.status === 404 && person.permitted?.operations !== undefined);
  return (
    <>
      <Breadcrumbs api={api} path={path} />
      <div class="heading">
        <h1 class="record-title">
          <bdi>{title}</bdi>
        </h1>
        <div class="buttons">
          {action !== undefined && (
            <a class="button" href={path}>
              {texts.back}
            </a>
          )}
          {action === undefined && mayAct && <ActionButtons actions={actions} path={path} />}
        </div>
      </div>
      <Waiting isWaiting={isWaiting || (isUndecidedYet && refusal === undefined)} />
      {refusal !== undefined &&
        (isMissing ? (
          <Missing api={api} resource={resource} path={path} onCreated={reload} />
        ) : (
          <Problem refusal={refusal} onRetry={reload} />
        ))}
      {form === 'refused' && row !== undefined && <NotOffered title={wanted!.summary} />}
      {action !== undefined && (
        <>
          <h2>{action.summary}</h2>
          <ActionPanel key={action.id} api={api} action={action} path={path} />
        </>
      )}
      {row !== undefined && action === undefined && (
        <RecordView api={api} resource={resource} path={path} row={row} tag={tag} reload={reload} restart={restart} />
      )}
    </>
  );
}

/** Says that a singleton has no record yet, with the form that creates it. */
function Missing(props: RecordProps & { readonly onCreated: () => void }): JSX.Element {
  const { resource, path } = props;
  const form = useFormState(resource.create, path);
  if (form === 'undecided') return <Waiting isWaiting />;
  if (form !== 'shown') return <NotOffered title={texts.noSingletonYet} />;
  return (
    <>
      <p class="lead" role="status">
        {texts.noSingletonYet} {texts.noSingletonHint}
      </p>
      <CreateForm {...props} create={resource.create!} />
    </>
  );
}

/** A record as it was read, with its entity tag. */
interface ReadRecord extends Omit<Awaited, 'answer' | 'show'> {
  readonly row: Row | undefined;
  readonly tag: string | undefined;
}

/**
 * Reads a record. One that is expanded has no entity tag, so it is read whole as well: what a form changes is of that reading, and its tag
 * tells if somebody else was faster.
 */
function useRecord(retrieve: Operation | undefined, path: string, expansion: URLSearchParams): ReadRecord {
  const isExpanded = expansion.size > 0;
  const plain = useAnswer(retrieve, path, isRow);
  const expanded = useAnswer(isExpanded ? retrieve : undefined, hrefOf(path, expansion, new URLSearchParams()), isRow);
  const [body, added] = [plain.answer?.body, isExpanded ? expanded.answer?.body : {}];
  const row = useMemo(
    () => (isRow(body) && isRow(added) ? { ...added, ...body } : undefined),
    [body, isExpanded && added],
  );
  const both = isExpanded ? [plain, expanded] : [plain];
  return {
    row,
    tag: plain.answer?.headers.get('etag') ?? undefined,
    refusal: both.find(({ refusal }) => refusal !== undefined)?.refusal,
    isWaiting: both.some(({ isWaiting }) => isWaiting),
    reload: () => {
      for (const { reload } of both) reload();
    },
    restart: () => {
      for (const { restart } of both) restart();
    },
  };
}

interface ViewProps extends RecordProps {
  readonly row: Row;
  /** The entity tag of the record as it was read. */
  readonly tag: string | undefined;
  readonly reload: () => void;
  /** Reads the record again, and begins with it as if it had never been shown. */
  readonly restart: () => void;
}

function RecordView(props: ViewProps): JSX.Element {
  const { api, resource, path, row } = props;
  const person = useStore(session);
  const { retrieve, update, destroy } = resource;
  const state = useFormState(update?.body === undefined ? undefined : update, path);
  const isEntered = useIsEntered(updateDraft(path));
  // Who may no longer change the record, as it is now, keeps the form only for what stands in it.
  const form = state === 'shown' && (isEntered || isOffered(update, person, path)) ? update : undefined;
  const written = new Set(propertiesOf(api.document, form?.body?.schema).map(([name]) => name));
  const names = Object.keys(row).filter((name) => !written.has(name));
  const schema = retrieve?.answer ?? resource.row;
  const facts = names.length > 0 && (
    <Facts
      api={api}
      schema={schema}
      written={writtenSchema(api, resource)}
      row={row}
      names={names}
      isAside={form !== undefined}
    />
  );
  return (
    <div class={`record${form === undefined ? '' : ' editable'}`}>
      <div>
        {form === undefined ? <ReadOnly {...props} /> : <UpdateForm {...props} update={form} />}
        {form === undefined && facts}
        {destroy !== undefined && <DeleteButton {...props} destroy={destroy} />}
      </div>
      <div class="aside">
        {retrieve !== undefined && hasParameter(retrieve, 'expand') && <ExpandSwitches operation={retrieve} />}
        <RelatedLists api={api} resource={resource} path={path} />
        {form !== undefined && facts}
      </div>
    </div>
  );
}

/** Says that a record cannot be changed here, and where it can be. */
function ReadOnly({ api, resource, row }: ViewProps): JSX.Element {
  const person = useStore(session);
  const elsewhere = resource.update === undefined ? editablePlace(api, resource, row) : undefined;
  return (
    <p class="hint">
      {isOfferedAfterLogin(resource.update, person) ? texts.readOnlyUntilLogin : texts.readOnly}{' '}
      {elsewhere !== undefined && !isForbidden(elsewhere.update, person) && (
        <a href={elsewhere.href}>{texts.editElsewhere}</a>
      )}
    </p>
  );
}
