import { type EntityName, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { nearest } from '../errors/nearest.ts';
import { TEXTS, wrongOption } from '../errors/options.ts';

/** @throws ImproperlyConfigured for names that a shape does not have, naming the nearest */
export function checkShapeNames(owner: string, names: unknown, known: readonly string[]): void {
  if (!TEXTS[1](names)) throw wrongOption(owner, 'names', TEXTS[0], names);
  const unknown = (names as readonly string[]).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, known);
  const hint = meant === undefined ? `it has: ${known.join(', ')}` : `did you mean "${meant}"?`;
  throw new ImproperlyConfigured(`${owner}: the shape has no field "${unknown}"; ${hint}`);
}

/** @throws ImproperlyConfigured for shapes of two entities */
export function checkSameEntity<Entity>(owner: string, entity: EntityName<Entity>, other: EntityName<Entity>): void {
  const [expected, given] = [Utils.className(entity), Utils.className(other)];
  if (expected === given) return;
  throw new ImproperlyConfigured(`${owner} takes a shape of ${expected}, got one of ${given}`);
}
