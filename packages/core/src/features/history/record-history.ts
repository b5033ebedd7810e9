import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ImproperlyConfigured, NotFound } from '../../errors/errors.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import { parseFieldText } from '../../fields/field-value.ts';
import { keyOfEntity } from '../../fields/primary-key.ts';
import { referredKey } from '../../fields/property.ts';
import { isFile } from '../../files/file-type.ts';
import { isRecord } from '../../support/json.ts';
import { BOOLEAN, checkOptions, type OptionRule } from '../../errors/options.ts';
import { invalidParameter, type ParameterDeclaration } from '../../http/parameters.ts';
import { observeFlushes } from '../../mikro/flushed-entities.ts';
import type { RecordOutput } from '../../view/request/record-output.ts';
import { requireOperation } from '../../view/request/operation.ts';
import { parametersOf } from '../../view/request/request-state.ts';
import { SHOWN_RECORDS } from '../../view/records/shown-records.ts';
import { type HistoryListener, HistoryRecorder, type KeptRecords, type KeptValues } from './history-recorder.ts';
import { fieldsForReader, fieldsOfAll, type KeptField, shownFields, storedFields } from './history-fields.ts';
import { keptProjection } from './kept-fields.ts';
import { type Action, action, type RecordRequest, withTraits } from '../../view/setup/action.ts';
import type { FeatureView } from '../../view/setup/feature.ts';
import { revertRecord } from './revert-record.ts';

/** The option `history` of a view: true, or the further requests that clients can send. */
export type HistoryOption =
  | boolean
  | {
      /**
       * True: `GET …/:pk?at=` returns the record at that time. The read shapes of `retrieve` must contain only stored
       * columns. Default: false.
       */
      readonly at?: boolean;
      /** True: `POST …/:pk/revert` writes the values of an entry of the history, like a PATCH. Default: false. */
      readonly revert?: boolean;
    };

export const HISTORY_RULE: OptionRule = [
  'true or false, or an object of "at" and "revert"',
  (value) => typeof value === 'boolean' || isRecord(value),
];

/** A view with the option `history`, as plugins see it. */
export interface HistoryView {
  readonly name: string;
  readonly meta: EntityMetadata;
  /** True if deleted records can be restored, because the view deletes by a mark. */
  readonly keepsDeleted: boolean;
  /** The fields that responses may show: those of all read shapes of `retrieve` that show a kept value. */
  readonly fields: readonly KeptField[];
  /**
   * Finds the record of a request as `retrieve` would show it, and checks the permissions of `retrieve` too.
   *
   * @throws HttpError if `retrieve` would not show the record to the request
   */
  find(request: RecordRequest): Promise<HistoricRecord>;
}

/** A record whose history the request may see. */
export interface HistoricRecord {
  /** The value of its primary key. */
  readonly key: unknown;
  /** The `HistoryView.fields` that `retrieve` shows to the request. */
  readonly shown: readonly KeptField[];
}

/** The history of the records of one view. */
export interface ViewHistory {
  /** Stores the writes, in their transaction. */
  readonly listener: HistoryListener;
  /** Further routes of the view, by action name. */
  readonly actions: ReadonlyMap<string, Action>;
  /**
   * Returns the values of a record at a point in time. Undefined if there was no record, or the history does not cover
   * that time.
   */
  valuesAt(request: FastifyRequest, key: unknown, at: Date): Promise<KeptValues | undefined>;
  /** Returns the values of a record after one of its writes. Undefined if the record has no such entry. */
  valuesOf(request: FastifyRequest, key: unknown, entry: string): Promise<KeptValues | undefined>;
}

/**
 * Stores the history of views with the option `history`. `history` of `@viewset/history` implements it.
 */
export interface HistoryPlugin {
  /** Makes the history of a view, when the view is registered. */
  keep(view: HistoryView): ViewHistory;
}

const AT: ParameterDeclaration = {
  name: 'at',
  schema: Type.String({
    description:
      'The record as it was at this time: a date with a time and a zone, or a date, which begins at midnight in UTC',
    examples: ['2026-01-01', '2026-01-01T12:00:00Z'],
  }),
};
const REVERT_BODY = Type.Object({
  entry: Type.String({ minLength: 1, maxLength: 255, description: 'The id of an entry of the history' }),
});
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The history of a view's records: the fields that it stores, and what it adds to the view's routes. */
export class RecordHistory {
  readonly actions: ReadonlyMap<string, Action>;
  /** The query parameters that the history adds to `retrieve`. */
  readonly parameters: readonly ParameterDeclaration[];
  readonly #view: FeatureView;
  readonly #fields: readonly KeptField[];
  readonly #history: ViewHistory;
  readonly #records: KeptRecords;

  /**
   * @throws ImproperlyConfigured for a view whose overrides may hide data that a history would show, and for an option
   * that the view's shapes do not support
   */
  constructor(view: FeatureView, option: HistoryOption, plugin: HistoryPlugin) {
    const { name, meta, outputs } = view;
    const owner = `${name}: option "history"`;
    if (isRecord(option)) checkOptions(`${name}.history`, option, { at: BOOLEAN, revert: BOOLEAN });
    const { at = false, revert = false } = isRecord(option) ? option : {};
    checkView(owner, view);
    this.#view = view;
    this.#fields = fieldsOfAll(
      meta,
      outputs.choicesFor('retrieve').map(({ shape }) => shape),
    );
    if (at) this.#checkAt(owner);
    if (revert) checkRevert(owner, view, this.#fields);
    this.parameters = at ? [AT] : [];
    this.#history = plugin.keep({
      name,
      meta,
      get keepsDeleted() {
        return view.features.deletion !== undefined;
      },
      fields: this.#fields,
      find: (request) => this.find(request),
    });
    const { orm, pk } = view;
    const projection = keptProjection(meta, orm.em.getPlatform());
    this.#records = { meta, pk, projection, view, listener: this.#history.listener };
    observeFlushes(orm);
    const kept = [...this.#history.actions].map(
      ([key, each]) => [key, withTraits(each, { permissionsOf: 'retrieve' })] as const,
    );
    const reverting = revert
      ? [['revert', withTraits(this.#revertAction(), { permissionsOf: 'update' })] as const]
      : [];
    this.actions = new Map([...kept, ...reverting]);
  }

  /** Makes the recorder of some work of a request. */
  recorder(request: FastifyRequest): HistoryRecorder {
    return new HistoryRecorder(this.#records, request);
  }

  /**
   * Finds the record of a request. Permissions and shapes are evaluated as in `retrieve`, because they may depend on
   * the operation.
   *
   * @throws HttpError if `retrieve` would not show the record to the request
   */
  async find(request: RecordRequest): Promise<HistoricRecord> {
    const { view, meta, outputs } = this.#view;
    const admitted = await view[SHOWN_RECORDS].admit(request, (request.params as { readonly pk?: string }).pk);
    await view[SHOWN_RECORDS].find(admitted, false);
    const shown = fieldsForReader(this.#fields, shownFields(meta, outputs.of(admitted.shown, 'retrieve').shape));
    return { key: this.#keyOf(await this.#view.getObject(request)), shown };
  }

  /** Reads the point in time of `?at=`. Undefined without the parameter. Throws InvalidUsage for a malformed time. */
  timeOf(request: FastifyRequest): Date | undefined {
    if (this.parameters.length === 0) return undefined;
    const text = parametersOf(request).one(AT.name);
    if (text === undefined) return undefined;
    try {
      return new Date(parseFieldText({ kind: 'datetime' }, DATE.test(text) ? `${text}T00:00:00Z` : text) as string);
    } catch (error) {
      if (error instanceof FieldValueError) throw invalidParameter(AT.name, error.message);
      throw error;
    }
  }

  /**
   * Makes the response of a record at an earlier time. Throws NotFound if there was no record, and InvalidUsage if the
   * client added fields that the history does not store.
   */
  async recordAt(request: FastifyRequest, { shape }: RecordOutput, entity: object, at: Date): Promise<object> {
    const shown = storedFields(this.#view.meta, shape);
    const unkept = shape.fields.find(({ name }) => !shown.some((field) => field.name === name));
    if (unkept !== undefined) throw invalidParameter(AT.name, `has no "${unkept.name}"; leave it out of the response`);
    const values = await this.#history.valuesAt(request, this.#keyOf(entity), at);
    if (values === undefined) throw new NotFound('The history has no record of that time');
    // The field may have been added to the shape later.
    const missing = shown.find(({ property }) => !Object.hasOwn(values, property));
    if (missing !== undefined) throw new NotFound(`The history has no "${missing.name}" of that time`);
    return Object.fromEntries(shown.map(({ name, property }) => [name, values[property]]));
  }

  /**
   * Makes the body that writes the values of an entry, limited to fields that the request may see. Throws NotFound if
   * the record has no such entry.
   */
  async bodyOf(request: RecordRequest, entry: string): Promise<object> {
    const { key, shown } = await this.find(request);
    const values = await this.#history.valuesOf(request, key, entry);
    if (values === undefined) throw new NotFound('The history of this record has no such entry');
    const { input } = this.#view;
    const names = writtenNames(this.#view, input!.of(request, 'update').shape.fields, shown);
    return Object.fromEntries(
      names.flatMap(({ name, sentAs }) => {
        if (!Object.hasOwn(values, name)) return [];
        const { show = (value: unknown) => value } = shown.find(({ property }) => property === name)!;
        return [[sentAs, show(values[name])]];
      }),
    );
  }

  #revertAction(): Action {
    return action({ methods: ['post'], detail: true, body: REVERT_BODY, answers: 'record' }, (request, reply) => {
      const { entry } = request.body;
      return revertRecord(this.#view, request, reply, () => this.bodyOf(request, entry));
    });
  }

  #keyOf(entity: object): unknown {
    return keyOfEntity(entity, this.#view.pk);
  }

  #checkAt(owner: string): void {
    const shapes = this.#view.outputs.choicesFor('retrieve').map(({ shape }) => shape);
    const untold = shapes.flatMap((shape) => {
      const shown = new Set(storedFields(this.#view.meta, shape).map(({ name }) => name));
      return shape.fields.flatMap(({ name }) => (shown.has(name) ? [] : [name]));
    });
    if (untold.length === 0) return;
    const names = [...new Set(untold)].map((name) => `"${name}"`).join(', ');
    throw new ImproperlyConfigured(
      `${owner} with "at" keeps only columns and keys of the record, but the read shape of retrieve also has ${names}; ` +
        'remove these fields from it, or let clients add them with "expand"',
    );
  }
}

/** @throws ImproperlyConfigured for an override that may hide data that a history would show */
function checkView(owner: string, { operations, overrides }: FeatureView): void {
  requireOperation(owner, 'retrieve', operations);
  const override = overrides.handles.retrieve ? 'retrieve' : overrides.represents ? 'represent' : undefined;
  if (override === undefined) return;
  throw new ImproperlyConfigured(
    `${owner} would show what the override of ${override}() may hide; restrict records in getQueryset(), and fields in the read shape`,
  );
}

/** @throws ImproperlyConfigured for a view that cannot write the values of its history */
function checkRevert(owner: string, view: FeatureView, kept: readonly KeptField[]): void {
  const { operations, overrides, input } = view;
  const fields = (input?.choicesFor('update') ?? []).flatMap(({ shape }) => shape.fields);
  requireOperation(`${owner} with "revert"`, 'update', operations);
  const why = overrides.handles.update
    ? 'would pass by the override of update(); override performUpdate() instead'
    : writtenNames(view, fields, kept).length === 0
      ? 'has nothing to write: no field of the write shape is one of the read shape'
      : undefined;
  if (why !== undefined) throw new ImproperlyConfigured(`${owner} with "revert" ${why}`);
}

interface WrittenName {
  readonly name: string;
  readonly sentAs: string;
}

/**
 * Lists the fields of bodies that accept stored values. A reference by a field other than the key does not, because the
 * history stores keys. A nested record does not, because the history has only its key.
 */
function writtenNames(
  { meta }: FeatureView,
  fields: readonly (WrittenName & {
    readonly reference?: { readonly key: string } | undefined;
    readonly children?: object | undefined;
  })[],
  kept: readonly KeptField[],
): readonly WrittenName[] {
  const known = new Set(kept.map(({ property }) => property));
  return fields.filter(({ name, reference, children }) => {
    const property = meta.properties[name as never] as EntityProperty | undefined;
    if (!known.has(name) || property === undefined || isFile(property) || children !== undefined) return false;
    return reference === undefined || reference.key === referredKey(property).name;
  });
}
