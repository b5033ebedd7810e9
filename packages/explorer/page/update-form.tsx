import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Api, Operation, Resource } from './api-model.ts';
import { ChangedFields, type Choice, type Conflict, conflictOf, FieldChoice, isUndecided } from './conflict.tsx';
import { type Draft, useDraft, type Values } from './drafts.ts';
import { Refusal, send } from './exchanges.ts';
import { notice } from './notice.tsx';
import type { Schema } from './openapi.ts';
import { ifMatch, type Reading, readingOf, readRecord } from './reading.ts';
import type { Row } from './records.ts';
import { bodyOf } from './request-body.ts';
import { propertiesOf, writable } from './schema.ts';
import { SchemaForm } from './schema-form.tsx';
import { texts } from '../src/texts.ts';
import { isSame } from './same-value.ts';

interface UpdateProps {
  readonly api: Api;
  readonly resource: Resource;
  readonly path: string;
  readonly row: Row;
  readonly tag: string | undefined;
  readonly update: Operation;
  readonly reload: () => void;
  readonly restart: () => void;
}

interface FormReading extends Reading {
  /** Undefined unless somebody else has written the record since an earlier reading. */
  readonly conflict?: Conflict | undefined;
}

/** The form of what may be changed in a record. Only what was changed is sent, and only if nobody else was faster. */
export function UpdateForm(props: UpdateProps): JSX.Element {
  const { api, resource, path, row, tag, update, reload, restart } = props;
  const [written, setWritten] = useState<{ readonly over: Row; readonly reading: FormReading }>();
  // What was entered stays over the record as it was read then; what was written is there before it is read again.
  const draft = useDraft<FormReading>(updateDraft(path), written?.over === row ? written.reading : { row, tag });
  const { base } = draft;
  const before = valuesOf(api, update, base.row);
  const { conflict } = base;
  const save = async (changes: Values): Promise<void> => {
    const known = base.tag;
    try {
      const answer = await send({
        operation: update,
        url: path,
        body: bodyOf(update, changes),
        headers: ifMatch(known),
      });
      // An answer in another form than that of reading has no tag, by which the next change has to be compared.
      const isComplete = known === undefined || answer.headers.has('etag') || resource.retrieve === undefined;
      const reading = isComplete ? readingOf(answer, base.row) : await readRecord(resource.retrieve, path);
      setWritten({ over: row, reading });
      draft.settle(draft, reading);
    } catch (error) {
      if (error instanceof Refusal && error.status === 412) {
        draft.rebase(changes, await rereadOver(props, base.row, changes));
      }
      throw error;
    }
    notice.set(texts.saved);
    reload();
  };
  return (
    <SchemaForm
      api={api}
      schema={requiredAlso(resource, update)}
      purpose="record"
      draft={draft}
      initial={before}
      isUpdate
      submitLabel={texts.save}
      onSubmit={(values) => {
        if (isUndecided(conflict)) return Promise.reject(new Refusal(409, 'undecided', texts.undecided));
        const changes = changesOf(before, values);
        if (Object.keys(changes).length > 0) return save(changes);
        notice.set(texts.unchanged);
        return Promise.resolve();
      }}
      onReload={restart}
      below={(name) => <ConflictField {...props} draft={draft} name={name} onChoice={setWritten} />}
    >
      {conflict !== undefined && (
        <ChangedFields api={api} schema={resource.retrieve?.answer ?? {}} before={conflict.before} now={base.row} />
      )}
    </SchemaForm>
  );
}

/** The choice between one's own value of a field and that of somebody else, if both have changed it. */
function ConflictField({
  api,
  row,
  update,
  draft,
  name,
  onChoice,
}: UpdateProps & {
  readonly draft: Draft<FormReading>;
  readonly name: string;
  readonly onChoice: (written: { readonly over: Row; readonly reading: FormReading }) => void;
}): JSX.Element | null {
  const { base, edits } = draft;
  const { conflict } = base;
  const field = conflict?.fields[name];
  if (conflict === undefined || field === undefined) return null;
  const isEntered = Object.hasOwn(edits, name);
  const mine = isEntered ? edits[name] : field.mine;
  const choose = (choice: Choice): void => {
    const { [name]: _left, ...others } = edits;
    const fields = { ...conflict.fields, [name]: { mine, choice } };
    const reading = { ...base, conflict: { ...conflict, fields } };
    // A form in which nothing is left that was entered begins with this reading too.
    onChoice({ over: row, reading });
    draft.enter(() => ({ edits: choice === 'mine' ? { ...others, [name]: mine } : others, json: undefined }));
    draft.rebase({}, reading);
  };
  return (
    <FieldChoice
      api={api}
      name={name}
      schema={new Map(propertiesOf(api.document, update.body!.schema)).get(name) ?? {}}
      values={{ mine, theirs: base.row[name] }}
      // Whoever goes on typing after that wants what is typed.
      choice={isEntered && field.choice === 'theirs' ? 'mine' : field.choice}
      onChoose={choose}
    />
  );
}

/** The name of the draft of a record's form. */
export function updateDraft(path: string): string {
  return `update ${path}`;
}

/** Reads a record that somebody else has written since, and finds what both have changed. */
async function rereadOver(props: UpdateProps, before: Row, changes: Values): Promise<FormReading> {
  const { api, resource, path, update } = props;
  const reading = await readRecord(resource.retrieve!, path);
  const conflict = conflictOf(before, changes, valuesOf(api, update, before), valuesOf(api, update, reading.row));
  return { ...reading, conflict };
}

/** The schema of changes. That of creating says which fields are never empty. */
function requiredAlso({ create }: Resource, { body }: Operation): Schema {
  const required = create?.body?.schema.required ?? [];
  return { ...body!.schema, required };
}

/** Returns the values that the form begins with: the fields that may be written, as the record has them. */
export function valuesOf(api: Api, { body }: Operation, row: Row): Values {
  const entries = propertiesOf(api.document, body!.schema)
    .filter(([name]) => row[name] !== undefined)
    .map(([name, schema]) => [name, writable(api.document, schema, row[name])] as const);
  return Object.fromEntries(entries);
}

export function changesOf(before: Values, after: Values): Values {
  const entries = Object.entries(after).filter(([name, value]) => !isSame(value, before[name]));
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
