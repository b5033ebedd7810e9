import { DEFINE } from './view-definition.ts';

/** A member that the classes of a view declare, and no class of the library's. */
export interface OwnMember {
  readonly name: string;
  readonly value: unknown;
  /** True if it is a member of the class and not of the view. */
  readonly isStatic: boolean;
}

/** What every class has by itself. */
const OF_CLASSES: ReadonlySet<string> = new Set(['length', 'name', 'prototype']);

/** Lists what the classes of a view declare: the properties of the view, the methods of its classes, and their static members. */
export function ownMembers(view: object): readonly OwnMember[] {
  const members: OwnMember[] = [];
  const add = (owner: object, isStatic: boolean): void => {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (name === 'constructor' || (isStatic && OF_CLASSES.has(name))) continue;
      members.push({ name, value: value as unknown, isStatic });
    }
  };
  add(view, false);
  let level = Object.getPrototypeOf(view) as object;
  for (; !Object.hasOwn(level, DEFINE); level = Object.getPrototypeOf(level) as object) {
    add(level, false);
    add(level.constructor, true);
  }
  return members;
}
