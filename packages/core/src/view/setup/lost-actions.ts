import { ImproperlyConfigured } from '../../errors/errors.ts';
import { isRecord } from '../../support/json.ts';
import { actionsOf, isAction } from './action.ts';
import { type DeclaredMember, declaredMembers } from './class-members.ts';
import { DEFINE } from './view-definition.ts';

/** A function that returns the result of `action()`. `other.action()` belongs to somebody else. */
const RETURNS_ACTION = /(?:\breturn\s+|=>\s*)action\s*\(/;
/** A private property, which `Object.entries` does not list. */
const PRIVATE_ACTION = /(#\w+)\s*=\s*action\s*\(/g;

/**
 * Finds the actions that have no route, because they are no values of properties of the view. A method or a getter that
 * returns an action would run code of the application, so only its text is read. A method with parameters, and one that
 * the class mentions, may make the action for a property. Other code may use the members too, so these are warnings.
 *
 * @returns sentences that name the member and the property to declare
 * @throws ImproperlyConfigured for a private action that the class does not use, because no other code can
 */
export function findLostActions(name: string, view: object): readonly string[] {
  const texts = classTexts(view);
  const isMentioned = (member: string): boolean =>
    texts.some((text) => new RegExp(`\\.\\s*${member.replaceAll('$', '\\$')}(?![\\w$])`).test(text));
  for (const [, property = ''] of texts.flatMap((text) => [...text.matchAll(PRIVATE_ACTION)])) {
    if (isMentioned(property)) continue;
    throw new ImproperlyConfigured(
      `${name}: the action "${property}" is private, so it has no route; make it public: ${property.slice(1)} = action(…)`,
    );
  }
  const routed = new Set<unknown>(actionsOf(view).values());
  return declaredMembers(view).flatMap((member) => {
    const { name: property } = member;
    const what = lossOf(member, routed, isMentioned);
    if (what === undefined) return [];
    return [
      `${name}: ${what}, so it has no route; assign the action to a property of the view: ${property} = action(…)`,
    ];
  });
}

function lossOf(
  { name, value, getter, isStatic }: DeclaredMember,
  routed: ReadonlySet<unknown>,
  isMentioned: (member: string) => boolean,
): string | undefined {
  if (isAction(value)) return routed.has(value) ? undefined : `the action "${name}" belongs to the class`;
  if (heldActions(value).some((each) => !routed.has(each))) return `"${name}" contains an action`;
  const made = getter ?? value;
  if (typeof made !== 'function' || isStatic || made.length > 0 || isMentioned(name)) return undefined;
  if (!RETURNS_ACTION.test(Function.prototype.toString.call(made))) return undefined;
  return `the ${getter === undefined ? 'method' : 'getter'} "${name}" returns an action`;
}

function heldActions(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.filter(isAction);
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype ? [...actionsOf(value).values()] : [];
}

/** Returns the texts of the classes that the application has written. */
function classTexts(view: object): string[] {
  const texts: string[] = [];
  let level = Object.getPrototypeOf(view) as object;
  for (; !Object.hasOwn(level, DEFINE); level = Object.getPrototypeOf(level) as object) {
    texts.push(Function.prototype.toString.call(level.constructor));
  }
  return texts;
}
