import { ImproperlyConfigured } from '../errors/errors.ts';

/** The lists of permission classes in the text of a class, alone or by operation. */
const LISTS = /\bpermissionClasses\b[^;{}[\]]*(\[[^\]]*\]|\{(?:[^{}]|\{[^{}]*\})*\})/g;
/** Two classes, or calls that make one, joined by an operator of JavaScript. */
const OPERATION = /\b([A-Z][\w.]*(?:\([^()]*\))?)\s*(\|\||&&)\s*([A-Z][\w.]*(?:\([^()]*\))?)/;

/**
 * Looks for `A || B` of permission classes in the body of a view's class: in its own `permissionClasses`, and in those of
 * its actions. Its value is A alone, so nothing else is left of B. The options of `ModelViewSet()` are outside of the
 * class: only a linter sees them (docs/editor.md).
 *
 * @throws ImproperlyConfigured that names the classes and the method to call instead
 */
export function checkOperators(name: string, view: object): void {
  for (
    let level = view.constructor;
    level !== Function.prototype;
    level = Object.getPrototypeOf(level) as typeof level
  ) {
    for (const [, list = ''] of Function.prototype.toString.call(level).matchAll(LISTS)) {
      const [text, one, operator, other] = OPERATION.exec(list) ?? [];
      if (text === undefined) continue;
      const [kept, lost, method] = operator === '||' ? [one, other, 'or'] : [other, one, 'and'];
      throw new ImproperlyConfigured(
        `${name}: permissionClasses has "${text}", which is ${kept} in JavaScript, so ${lost} is never checked; write ${one}.${method}(${other})`,
      );
    }
  }
}
