import { TEXT, wrongOption } from '../../options.ts';

/** A field of a write shape that writes a property of another name; made by `field`. */
export class Renamed<Property extends string, Source> {
  readonly property: Property;
  readonly source: Source;

  constructor(property: Property, source: Source) {
    this.property = property;
    this.source = source;
  }
}

/**
 * Writes a property under another name in bodies. `source` is what the third parameter of `writeShape` would have under the name of the
 * property itself: a schema, a reference, a `file()` or `nested()` children. Without it, the property is written as it is, like by
 * `{ username: 'name' }`; only `field()` may take the name of another property.
 *
 * Throws ImproperlyConfigured for a name that is no text. A property that the entity does not have does not compile.
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
