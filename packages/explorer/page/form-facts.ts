import type { Api } from './api-model.ts';
import type { Detail } from './exchanges.ts';
import type { Schema } from './openapi.ts';
import type { Described } from './schema.ts';

/** The purposes of forms of logins and of accounts, which nobody needs to write as JSON. */
export const ACCOUNT_PURPOSES: ReadonlySet<string> = new Set(['login', 'register', 'account']);

/** The facts that the fields of one form have in common. */
export interface FormFacts {
  readonly api: Api;
  readonly purpose: string;
  readonly isUpdate: boolean;
  /** True if there is no field that may be left empty: none is said to be required then. */
  readonly isAllRequired?: boolean;
  /** The faults that the server has found. */
  readonly details: readonly Detail[];
}

export interface FieldProps {
  readonly facts: FormFacts;
  readonly name: string;
  /** The place of the value in the body, as the server's details have it. */
  readonly pointer: string;
  readonly schema: Schema;
  readonly required: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

/** The facts that an input has to know of its field. */
export interface InputProps {
  readonly facts: FormFacts;
  readonly id: string;
  readonly name: string;
  readonly described: Described;
  readonly required: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  /** For the input itself. */
  readonly aria: InputAria;
}

export interface InputAria {
  /** The name of an input without a label. */
  readonly 'aria-label'?: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': 'true' | undefined;
  readonly 'aria-required': 'true' | undefined;
}

/** Names a step below a place, as RFC 6901 has it. */
export function pointerTo(parent: string, step: string | number): string {
  return `${parent}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The id of the input of a place. */
export function inputId({ purpose }: FormFacts, pointer: string): string {
  return `${purpose}-${pointer.slice(1).replaceAll('/', '-')}`;
}

/** The words of the server about a place; about everything within it, if the place has one input alone. */
export function faultsAt({ details }: FormFacts, pointer: string, isSubtree = false): readonly string[] {
  return details
    .filter(({ path }) => path === pointer || (isSubtree && path.startsWith(`${pointer}/`)))
    .map(({ path, message }) => (path === pointer ? message : `${path} ${message}`));
}

/** Tells assistive technology of an input what stands below it. */
export function ariaOf(id: string, faults: readonly string[], { required = false, hint = false } = {}): InputAria {
  const below = [hint ? [`${id}-hint`] : [], faults.length > 0 ? [`${id}-faults`] : []].flat();
  return {
    'aria-describedby': below.length === 0 ? undefined : below.join(' '),
    'aria-invalid': faults.length === 0 ? undefined : 'true',
    'aria-required': required ? 'true' : undefined,
  };
}
