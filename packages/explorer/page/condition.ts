import { type ApiDocument, follow, type Parameter, type Schema } from './openapi.ts';
import { isRow } from './records.ts';

/** The comparisons that people choose from, as JSON Logic has them; `contains` is its `in` with a text. */
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'contains';

/** One line of a condition. */
export interface Term {
  readonly field: string;
  readonly comparison: Comparison;
  readonly value: unknown;
}

/** A condition of several terms, all or any of which are to be true. */
export interface Condition {
  readonly joint: 'and' | 'or';
  readonly terms: readonly Term[];
}

/** A field that a condition may name. */
export interface ConditionField {
  readonly name: string;
  /** The schema of the values that it is compared with. */
  readonly schema: Schema;
  readonly comparisons: readonly Comparison[];
}

const COMPARISONS: readonly Comparison[] = ['==', '!=', '<', '<=', '>', '>=', 'contains'];

/** Reads from the schema of the conditions which fields they may name, and how each is compared. */
export function conditionFields(document: ApiDocument, { schema }: Parameter): readonly ConditionField[] {
  const rule = follow<Schema>(document, schema?.contentSchema ?? {});
  const found = new Map<string, ConditionField>();
  for (const comparison of COMPARISONS) {
    const operator = operatorOf(comparison);
    const [, operands] =
      Object.entries(rule.patternProperties ?? {}).find(([pattern]) => new RegExp(pattern).test(operator)) ?? [];
    const forms = follow<Schema>(document, operands ?? {});
    for (const { prefixItems = [] } of [forms, ...(forms.anyOf ?? [])]) {
      if (prefixItems.length !== 2) continue;
      const [subject, object] =
        comparison === 'contains' ? [prefixItems[1]!, prefixItems[0]!] : [prefixItems[0]!, prefixItems[1]!];
      const names = follow<Schema>(document, subject).properties?.['var']?.enum ?? [];
      for (const name of names as string[]) {
        const { schema: known = object, comparisons = [] } = found.get(name) ?? {};
        found.set(name, { name, schema: known, comparisons: [...comparisons, comparison] });
      }
    }
  }
  return [...found.values()];
}

function operatorOf(comparison: Comparison): string {
  return comparison === 'contains' ? 'in' : comparison;
}

/** Reads a condition that consists of terms; undefined if it is another one, which only its text can say. */
export function readCondition(text: string): Condition | undefined {
  if (text === '') return { joint: 'and', terms: [] };
  let rule: unknown;
  try {
    rule = JSON.parse(text);
  } catch {
    return undefined;
  }
  const [joint, inner] = isRow(rule) ? (Object.entries(rule)[0] ?? []) : [];
  const isJoint = (joint === 'and' || joint === 'or') && Array.isArray(inner);
  const terms = (isJoint ? (inner as unknown[]) : [rule]).map(readTerm);
  return terms.includes(undefined) ? undefined : { joint: joint === 'or' ? 'or' : 'and', terms: terms as Term[] };
}

function readTerm(rule: unknown): Term | undefined {
  const [operator, operands] = isRow(rule) ? (Object.entries(rule)[0] ?? []) : [];
  if (!Array.isArray(operands) || operands.length !== 2) return undefined;
  const comparison = COMPARISONS.find((each) => operatorOf(each) === operator);
  const [subject, value] = (comparison === 'contains' ? operands.toReversed() : operands) as [unknown, unknown];
  const field = isRow(subject) ? subject['var'] : undefined;
  if (comparison === undefined || typeof field !== 'string' || typeof value === 'object') return undefined;
  return { field, comparison, value };
}

/** Writes a condition in JSON Logic; nothing, if it has no terms. */
export function writeCondition({ joint, terms }: Condition): string {
  const rules = terms.map(({ field, comparison, value }) => ({
    [operatorOf(comparison)]: comparison === 'contains' ? [value, { var: field }] : [{ var: field }, value],
  }));
  if (rules.length === 0) return '';
  return JSON.stringify(rules.length === 1 ? rules[0] : { [joint]: rules });
}
