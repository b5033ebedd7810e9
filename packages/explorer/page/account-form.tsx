import type { ComponentChildren, JSX } from 'preact';
import type { Api, Operation } from './api-model.ts';
import { useDraft, type Values } from './drafts.ts';
import { type Answer, send } from './exchanges.ts';
import { SchemaForm } from './schema-form.tsx';
import { describe } from './schema.ts';

/** The form of an operation of a login or of one's own account. What is entered is nowhere longer than it is shown. */
export function AccountForm({
  api,
  operation,
  purpose = 'account',
  known = {},
  initial,
  submitLabel,
  isDangerous = false,
  onDone,
  onCancel,
  children,
}: {
  readonly api: Api;
  readonly operation: Operation;
  readonly purpose?: 'login' | 'register' | 'account';
  /** Values that the page knows, so that nobody is asked for them; undefined is not sent. */
  readonly known?: Values;
  readonly initial?: Values | undefined;
  readonly submitLabel: string;
  /** True if what is sent cannot be undone. */
  readonly isDangerous?: boolean;
  readonly onDone: (values: Values, answer: Answer) => void;
  readonly onCancel?: () => void;
  /** What stands above the fields. */
  readonly children?: ComponentChildren;
}): JSX.Element {
  const draft = useDraft(undefined, undefined);
  const { schema } = describe(api.document, operation.body?.schema);
  const isMissing = (name: string): boolean => !Object.hasOwn(known, name);
  // The code that somebody has just been sent comes first.
  const properties = Object.entries(schema.properties ?? {})
    .filter(([name]) => isMissing(name))
    .toSorted(([one], [other]) => Number(other === 'code') - Number(one === 'code'));
  const form = (
    <SchemaForm
      api={api}
      schema={{
        ...schema,
        properties: Object.fromEntries(properties),
        required: schema.required?.filter(isMissing) ?? [],
      }}
      purpose={purpose}
      draft={draft}
      initial={initial}
      submitLabel={submitLabel}
      isDangerous={isDangerous}
      onCancel={onCancel}
      onSubmit={async (entered) => {
        const values = { ...entered, ...known };
        const answer = await send({ operation, url: operation.path, body: values });
        draft.forget();
        onDone(values, answer);
      }}
    />
  );
  return (
    <>
      {children}
      {form}
    </>
  );
}
