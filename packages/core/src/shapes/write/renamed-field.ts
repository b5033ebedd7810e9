import { TEXT, wrongOption } from '../../errors/options.ts';

/** A field of a write shape that writes a property with another name. Made by `field`. */
export class Renamed<Property extends string, Source> {
  readonly property: Property;
  readonly source: Source;

  constructor(property: Property, source: Source) {
    this.property = property;
    this.source = source;
  }
}

/**
 * Writes a property by a field with another name. `source` is the override that the third parameter of `writeShape`
 * would have for the property: a schema, a reference, a `file()` or `nested()` children. Without `source` it does the
 * same as `{ username: 'name' }`, but only `field()` may use the name of another property for the field.
 *
 * Throws ImproperlyConfigured for a name that is not a text. An unknown property does not compile.
 *
 * @example
 * writeShape(Account, ['email'], { username: field('name', Type.String({ minLength: 3 })) });
 * // POST /accounts {"email":"ada@example.com","username":"Ada"}
 */
export function field<const Property extends string>(property: Property): Renamed<Property, undefined>;
export function field<const Property extends string, const Source>(
  property: Property,
  source: Source,
): Renamed<Property, Source>;
export function field(property: string, source?: unknown): Renamed<string, unknown> {
  if (!TEXT[1](property)) throw wrongOption('field()', 'property', 'the name of a property', property);
  return new Renamed(property, source);
}
