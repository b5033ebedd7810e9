import type { OperationPlan } from '@viewset/core';
import { type Body, bodyFields, type FieldSchema } from '../bodies.ts';
import { type Answer, isRefusal } from './refusals.ts';

/** A change of one field, after which a rule over several fields accepts a generated body. */
export interface Repair {
  readonly name: string;
  readonly change: Change;
}

/** The repairs of an operation's bodies, or the rule that no repair satisfies. */
export interface Repairs {
  readonly all: readonly Repair[];
  /** The error of the rule. Undefined if the repaired body is accepted. */
  readonly stoppedBy: string | undefined;
}

type Change = 'after' | 'before' | 'equal' | 'null' | 'absent' | 'least' | 'greatest' | `other ${number}`;

/** In the order in which they are tried. */
const CHANGES: readonly Change[] = [
  'after',
  'before',
  'equal',
  'null',
  'absent',
  'least',
  'greatest',
  'other 1',
  'other 2',
  'other 3',
];

/** The most bodies that are sent to find one repair. */
const MOST_BODIES = 60;
/** The most repairs of one body. Two rules that contradict each other would never end. */
const MOST_ROUNDS = 8;

/** Sends a generated body with repairs, and returns the response. */
export type Attempt = (repairs: readonly Repair[]) => Promise<Pick<Answer, 'status' | 'body' | 'text'>>;

/**
 * Finds the repairs that a generated body needs. A rule that accepts it ends the search. A change is kept if its rule is
 * satisfied, also if another rule refuses the body then.
 *
 * @param fixed the names of fields that must not change
 * @returns the repairs, and the response to the last body
 */
export async function findRepairs(
  plan: OperationPlan,
  attempt: Attempt,
  fixed: ReadonlySet<string> = new Set(),
): Promise<Repairs & { readonly answer: Awaited<ReturnType<Attempt>> }> {
  const names = Object.keys(bodyFields(plan));
  let all: readonly Repair[] = [];
  let answer = await attempt(all);
  for (let round = 0; isRefusal(answer.status) && round < MOST_ROUNDS; round++) {
    // If the refused field is fixed, the rule may compare it with another.
    const refused = [...new Set([...refusedFields(answer, names), ...names])].filter((name) => !fixed.has(name));
    const found = await findRepair(plan, refused, { attempt, all, answer });
    if (found === undefined) break;
    ({ all, answer } = found);
  }
  return { all, stoppedBy: isRefusal(answer.status) ? ruleOf(answer) : undefined, answer };
}

interface Found {
  readonly all: readonly Repair[];
  readonly answer: Awaited<ReturnType<Attempt>>;
}

/** Finds one change after which one problem less is left. */
async function findRepair(
  plan: OperationPlan,
  refused: readonly string[],
  { attempt, all, answer }: Found & { readonly attempt: Attempt },
): Promise<Found | undefined> {
  const fields = bodyFields(plan);
  const changes = refused.flatMap((name) => {
    return CHANGES.filter((change) => fits(fields[name]!, change)).map((change) => ({ name, change }));
  });
  for (const repair of changes.slice(0, MOST_BODIES)) {
    const tried = [...all.filter(({ name }) => name !== repair.name), repair];
    const next = await attempt(tried);
    const isSatisfied = !isRefusal(next.status) || isNearer(answer, next);
    if (isSatisfied) return { all: tried, answer: next };
  }
  return undefined;
}

/** Changes the fields of a body. Fields that are given stay as they are. */
export function repaired(plan: OperationPlan, body: Body, repairs: readonly Repair[], given: Body = {}): Body {
  const fields = bodyFields(plan);
  let result = body;
  for (const { name, change } of repairs) {
    if (Object.hasOwn(given, name) || !Object.hasOwn(result, name)) continue;
    const { [name]: value, ...others } = result;
    const changed = valueAfter(change, { value, others, schema: fields[name]! });
    result = changed === undefined ? others : { ...result, [name]: changed };
  }
  return result;
}

interface Changed {
  readonly value: unknown;
  readonly others: Body;
  readonly schema: FieldSchema;
}

/** Returns the changed value. Undefined: the field is left out. */
function valueAfter(change: Change, { value, others, schema }: Changed): unknown {
  const alike = Object.values(others).filter((other) => kindOf(other) === kindOf(value));
  switch (change) {
    case 'absent':
      return undefined;
    case 'null':
      return null;
    case 'least':
      return schema.minimum;
    case 'greatest':
      return schema.maximum;
    case 'equal':
      return alike[0] ?? value;
    case 'after':
      return moved(greatest([value, ...alike]), 1);
    case 'before':
      return moved(least([value, ...alike]), -1);
    default:
      return otherValue(value, schema, Number(change.slice('other '.length)));
  }
}

function fits(schema: FieldSchema, change: Change): boolean {
  if (change === 'null') return isNullable(schema);
  if (change === 'least') return schema.minimum !== undefined;
  if (change === 'greatest') return schema.maximum !== undefined;
  return true;
}

function isNullable({ type, anyOf = [], enum: values = [] }: FieldSchema): boolean {
  return [type].flat().includes('null') || values.includes(null) || anyOf.some(isNullable);
}

function otherValue(value: unknown, { enum: values = [] }: FieldSchema, distance: number): unknown {
  if (typeof value === 'boolean') return distance % 2 === 1 ? !value : value;
  const known = values.filter((each) => each !== null);
  return known.length === 0 ? value : known[(known.findIndex((each) => each === value) + distance) % known.length];
}

const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d\d:\d\d:\d\d/;
const DATETIME = /^\d{4}-\d\d-\d\dT/;

/** The kind of values that a value can be compared with. */
function kindOf(value: unknown): string {
  if (typeof value !== 'string') return value === null ? 'null' : typeof value;
  if (DATETIME.test(value)) return 'datetime';
  if (DATE.test(value)) return 'date';
  return TIME.test(value) ? 'time' : 'text';
}

/** Texts of dates and times sort like the moments. */
function greatest(values: readonly unknown[]): unknown {
  return values.reduce((one, other) => ((other as number) > (one as number) ? other : one));
}

function least(values: readonly unknown[]): unknown {
  return values.reduce((one, other) => ((other as number) < (one as number) ? other : one));
}

/** Moves a value by one: a number, a day or a second. A value of another kind stays. */
function moved(value: unknown, step: 1 | -1): unknown {
  if (typeof value === 'number') return value + step;
  switch (kindOf(value)) {
    case 'datetime':
      return new Date(Date.parse(value as string) + step * 1000).toISOString();
    case 'date':
      return new Date(Date.parse(value as string) + step * 86_400_000).toISOString().slice(0, 10);
    case 'time':
      return new Date(Date.parse(`2000-01-01T${value as string}Z`) + step * 1000).toISOString().slice(11, 19);
    default:
      return value;
  }
}

interface ErrorBody {
  readonly error?: string;
  readonly details?: readonly { readonly in: string; readonly path: string; readonly message: string }[];
}

/** The problems of a refused body. */
function problemsOf({ body, text }: Pick<Answer, 'body' | 'text'>): readonly string[] {
  const { error, details = [] } = (body ?? {}) as ErrorBody;
  return details.length === 0 ? [error ?? text] : details.map(({ path, message }) => `${path} ${message}`.trim());
}

/** True if a problem is gone, and none has come. */
function isNearer(before: Pick<Answer, 'body' | 'text'>, after: Pick<Answer, 'body' | 'text'>): boolean {
  const [known, left] = [problemsOf(before), problemsOf(after)];
  return known.some((problem) => !left.includes(problem)) && left.length <= known.length;
}

/** Returns the fields that an error names, and then all others if a problem names none. */
function refusedFields({ body }: Pick<Answer, 'body'>, names: readonly string[]): readonly string[] {
  const { details = [] } = (body ?? {}) as ErrorBody;
  const named = details.map(({ path }) => path.split('/').find((step) => names.includes(step)));
  const found = named.filter((name) => name !== undefined);
  return [...new Set(named.length === found.length && found.length > 0 ? found : [...found, ...names])];
}

function ruleOf(answer: Pick<Answer, 'body' | 'text'>): string {
  return problemsOf(answer).join('; ');
}
