import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { hasFileRoute } from '../../files/file-routes.ts';
import type { FileLink } from '../../files/file-type.ts';
import { SentLink } from '../../files/sent-link.ts';
import type { Projection } from '../../query/language/projection.ts';
import type { Problem } from '../../schema/scan-input.ts';
import type { BoundField } from '../../shapes/write/bound-input.ts';
import { fieldOf, shapeOf } from '../../shapes/read/read-shape.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * Compares the links in bodies with the files of the records, so that a client can send a record as it was read. The
 * link of the current file changes nothing.
 */
export class KeptFiles {
  readonly #meta: EntityMetadata;
  /** The readers of links, by property. They are made for the first link, when all views are registered. */
  readonly #links = new Map<string, Projection<{ readonly link: FileLink | null }>>();

  constructor(meta: EntityMetadata) {
    this.#meta = meta;
  }

  /**
   * Returns the values of a body without the links of the record's own files.
   *
   * @param faults receives a fault for each other link
   */
  async withoutLinks<Data extends object>(
    em: EntityManager,
    fields: readonly BoundField[],
    data: Data,
    entity: object | undefined,
    faults: Problem[],
  ): Promise<Data> {
    const sent = fields.filter(({ name }) => (data as Values)[name] instanceof SentLink);
    if (sent.length === 0) return data;
    const others: Record<string, unknown> = { ...(data as Values) };
    for (const { name, path } of sent) {
      const link = others[name] as SentLink;
      delete others[name];
      if (entity !== undefined && link.keeps(await this.#linkOf(em, name, entity))) continue;
      faults.push({ path, message: 'must be a file, sent as multipart/form-data, or the link of the current file' });
    }
    return others as Data;
  }

  async #linkOf(em: EntityManager, name: string, entity: object): Promise<FileLink | null> {
    const property = this.#meta.properties[name as never] as EntityProperty;
    // No response has shown it.
    if (property.hidden === true || !hasFileRoute(property)) return null;
    const known = this.#links.get(name);
    const projection = known ?? this.#projectionOf(em, name);
    this.#links.set(name, projection);
    await em.populate([entity], projection.populate as never[], { filters: false });
    return projection.readEntity(entity).link;
  }

  #projectionOf(em: EntityManager, name: string): Projection<{ readonly link: FileLink | null }> {
    const shape = shapeOf(this.#meta.class, [fieldOf(this.#meta, 'link', name)]);
    return shape.bind(this.#meta, em.getPlatform()) as never;
  }
}
