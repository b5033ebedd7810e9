import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Api, Operation, Resource } from './api-model.ts';
import { useDraft, type Values } from './drafts.ts';
import { Refusal, send } from './exchanges.ts';
import { notice } from './notice.tsx';
import type { Schema } from './openapi.ts';
import { isRow, type Row } from './records.ts';
import { bodyOf } from './request-body.ts';
import { propertiesOf, writable } from './schema.ts';
import { SchemaForm } from './schema-form.tsx';
import { texts } from '../src/texts.ts';
import { humanized } from './words.ts';

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

/** A record as it was read. */
interface Reading {
  readonly row: Row;
  /** Undefined if it has no entity tag. */
  readonly tag: string | undefined;
}

/** The conflict of changes with what somebody else has written since the record was read. */
interface Conflict {
  /** The names of the fields that are others now. */
  readonly names: readonly string[];
  /** The entity tag of the record as it is now. */
  readonly tag: string | undefined;
  /** The changes that were to be saved. */
  readonly changes: Values;
}

/** The form of what may be changed in a record. Only what was changed is sent, and only if nobody else was faster. */
export function UpdateForm(props: UpdateProps): JSX.Element {
  const { api, resource, path, row, tag, update, reload, restart } = props;
  const [conflict, setConflict] = useState<Conflict>();
  const [written, setWritten] = useState<{ readonly over: Row; readonly reading: Reading }>();
  // What was entered stays over the record as it was read then; what was written is there before it is read again.
  const draft = useDraft<Reading>(updateDraft(path), written?.over === row ? written.reading : { row, tag });
  const { base } = draft;
  const before = valuesOf(api, update, base.row);
  const save = async (changes: Values, known: string | undefined): Promise<void> => {
    setConflict(undefined);
    try {
      const answer = await send({
        operation: update,
        url: path,
        body: bodyOf(update, changes),
        headers: ifMatch(known),
      });
      // An answer in another form than that of reading has no tag, by which the next change has to be compared.
      const isWhole = known === undefined || answer.headers.has('etag') || resource.retrieve === undefined;
      const { body, headers } = isWhole ? answer : await send({ operation: resource.retrieve, url: path });
      const reading = { row: isRow(body) ? body : base.row, tag: headers.get('etag') ?? undefined };
      setWritten({ over: row, reading });
      draft.settle(draft, reading);
    } catch (error) {
      if (error instanceof Refusal && error.status === 412) setConflict(await conflictOf(props, base.row, changes));
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
        const changes = changesOf(before, values);
        if (Object.keys(changes).length > 0) return save(changes, base.tag);
        notice.set(texts.unchanged);
        return Promise.resolve();
      }}
      onReload={restart}
      buttons={(submit) =>
        conflict !== undefined && (
          <button type="button" class="danger" onClick={() => submit(() => save(conflict.changes, conflict.tag))}>
            {texts.overwrite}
          </button>
        )
      }
    >
      {conflict !== undefined && conflict.names.length > 0 && (
        <p class="conflict">{texts.changedMeanwhile(conflict.names.map(humanized))}</p>
      )}
    </SchemaForm>
  );
}

/** The name of the draft of a record's form. */
export function updateDraft(path: string): string {
  return `update ${path}`;
}

/** The condition that nobody has changed the record; none if it has no tag by which to tell. */
export function ifMatch(tag: string | undefined): Readonly<Record<string, string>> {
  return tag === undefined || tag.startsWith('W/') ? {} : { 'if-match': tag };
}

async function conflictOf({ resource, path }: UpdateProps, row: Row, changes: Values): Promise<Conflict> {
  const { body, headers } = await send({ operation: resource.retrieve!, url: path });
  const now = isRow(body) ? body : {};
  const names = Object.keys(row).filter((name) => JSON.stringify(row[name]) !== JSON.stringify(now[name]));
  return { names, tag: headers.get('etag') ?? undefined, changes };
}

/** The schema of changes. That of creating says which fields are never empty. */
function requiredAlso({ create }: Resource, { body }: Operation): Schema {
  const required = create?.body?.schema.required ?? [];
  return { ...body!.schema, required };
}

/** Returns the values that the form begins with: the fields that may be written, as the record has them. */
function valuesOf(api: Api, { body }: Operation, row: Row): Values {
  const entries = propertiesOf(api.document, body!.schema)
    .filter(([name]) => row[name] !== undefined)
    .map(([name, schema]) => [name, writable(api.document, schema, row[name])] as const);
  return Object.fromEntries(entries);
}

function changesOf(before: Values, after: Values): Values {
  const entries = Object.entries(after).filter(
    ([name, value]) => value instanceof File || JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
