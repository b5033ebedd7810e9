import { ImproperlyConfigured } from '../../errors/errors.ts';
import { isPlainRecord } from '../../support/json.ts';
import { nearest } from '../../errors/nearest.ts';
import { checkOptions, type OptionRule, TEXT, wrongOption } from '../../errors/options.ts';
import type { Feature, FeatureView } from '../../view/setup/feature.ts';
import type { ConstraintMessage } from '../../view/write/constraint-messages.ts';
import { NamedConstraints } from './named-constraints.ts';

type Constraints = Readonly<Record<string, ConstraintMessage>>;

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * The messages of constraints of the database, by the names of the constraints: unique, check, exclusion and foreign
     * keys, also of related tables. The status stays: 400 for a check, otherwise 409. Default: general messages.
     *
     * @example
     * class ShelfViewSet extends ModelViewSet(Product, {
     *   read,
     *   write,
     *   constraints: { product_name_unique: { path: '/name', message: 'A product has this name already' } },
     * }) {}
     * // POST /products {"name":"Tea","price":4}   409 {"error":"A product has this name already", …}
     */
    readonly constraints?: Constraints;
  }
}

const RULE: OptionRule = ['an object of messages by the names of constraints', isPlainRecord];
const PATH: OptionRule = [
  'a JSON pointer to a field of the body, such as "/name"',
  (value) => typeof value === 'string' && /^(?:\/(?:[^/~]|~[01])+)+$/.test(value),
];

/** The option `constraints`: the application's own messages for constraints of the database. */
export const CONSTRAINTS: Feature<Constraints> = {
  option: 'constraints',
  rule: RULE,
  resolve: (view, constraints) => {
    const owner = `${view.name}.constraints`;
    const refusals = new NamedConstraints(constraints, view.orm);
    for (const [name, given] of Object.entries<unknown>(constraints)) {
      if (!isPlainRecord(given)) throw wrongOption(owner, name, 'an object of "message" and "path"', given);
      checkOptions(`${owner}.${name}`, given, { message: TEXT, path: PATH });
      const { message, path } = given as Partial<ConstraintMessage>;
      if (message === undefined) throw wrongOption(`${owner}.${name}`, 'message', TEXT[0], message);
      checkName(owner, name, refusals.declaredNames);
      if (path !== undefined) checkPath(`${owner}.${name}`, path, view);
    }
    return { refusals };
  },
};

/** A migration may have made the constraint, so only a name that is almost a declared one is wrong for certain. */
function checkName(owner: string, name: string, declared: readonly string[]): void {
  if (declared.includes(name)) return;
  const meant = nearest(name, declared, 2);
  if (meant === undefined) return;
  throw new ImproperlyConfigured(`${owner} names "${name}", which no entity declares; did you mean "${meant}"?`);
}

function checkPath(owner: string, path: string, { input }: FeatureView): void {
  const [, first = ''] = path.split('/');
  const field = first.replaceAll('~1', '/').replaceAll('~0', '~');
  const fields = input?.fields ?? [];
  if (fields.includes(field)) return;
  const meant = nearest(field, fields);
  const hint = meant === undefined ? `known: ${fields.join(', ')}` : `did you mean "${meant}"?`;
  throw new ImproperlyConfigured(`${owner}: path "${path}" names no field of the body; ${hint}`);
}
