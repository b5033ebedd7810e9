import { ImproperlyConfigured } from '../../errors/errors.ts';
import { isRecord } from '../../support/json.ts';
import { actionsOf, isAction } from './action.ts';
import { declaredMembers } from './class-members.ts';
import { DEFINE } from './view-definition.ts';

/** A function that returns the result of `action()`. `other.action()` belongs to somebody else. */
const RETURNS_ACTION = /(?:\breturn\s+|=>\s*)action\s*\(/;
/** A private property, which `Object.entries` does not list. */
const PRIVATE_ACTION = /(#\w+)\s*=\s*action\s*\(/g;

/**
 * Rejects an action that has no route, because it is not the value of a property of the view. A method or a getter that
 * returns an action would run code of the application, so only its text is read. A method with parameters, and one that
 * the class mentions, may make the action for a property.
 *
 * @throws ImproperlyConfigured that names the member and the property to declare
 */
export function checkLostActions(name: string, view: object): void {
  const texts = classTexts(view);
  const isMentioned = (member: string): boolean =>
    texts.some((text) => new RegExp(`\\.\\s*${member.replaceAll('$', '\\$')}(?![\\w$])`).test(text));
  for (const member of declaredMembers(view)) {
    const { name: property, value, getter, isStatic } = member;
    const lose = (what: string): never => {
      throw new ImproperlyConfigured(
        `${name}: ${what}, so it has no route; assign the action to a property of the view: ${property} = action(…)`,
      );
    };
    const isOfView = !isStatic && Object.hasOwn(view, property);
    if (isAction(value) && !isOfView) lose(`the action "${property}" belongs to the class`);
    if (holdsAction(value)) lose(`"${property}" contains an action`);
    const made = getter ?? value;
    if (typeof made !== 'function' || isStatic || made.length > 0 || isMentioned(property)) continue;
    if (!RETURNS_ACTION.test(Function.prototype.toString.call(made))) continue;
    lose(`the ${getter === undefined ? 'method' : 'getter'} "${property}" returns an action`);
  }
  for (const [, property = ''] of texts.flatMap((text) => [...text.matchAll(PRIVATE_ACTION)])) {
    if (isMentioned(property)) continue;
    throw new ImproperlyConfigured(
      `${name}: the action "${property}" is private, so it has no route; make it public: ${property.slice(1)} = action(…)`,
    );
  }
}

function holdsAction(value: unknown): boolean {
  if (isAction(value)) return false;
  if (Array.isArray(value)) return value.some(isAction);
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype && actionsOf(value).size > 0;
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
