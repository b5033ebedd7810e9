import { STATUS_CODES } from 'node:http';
import type { TSchema } from 'typebox';
import type { OperationParameter, OperationPlan, OperationResponse } from '@viewset/core';
import type { DocumentedRoute } from './document.ts';
import { changeInside, insideOf } from './envelope.ts';
import { documentSchema, isObject, type JsonObject, jsonValue, requestSchema } from './json-schema.ts';
import { linksOf, type PlansByPath } from './links.ts';
import { capitalized } from './words.ts';

/** The name of the security scheme that operations refer to. */
export const SECURITY_SCHEME = 'bearerAuth';

/**
 * Writes a plan as an OpenAPI operation.
 *
 * @param plans all plans of the document, for links
 */
export function describeOperation(plan: OperationPlan, needsToken: boolean, plans: PlansByPath): JsonObject {
  const { documentation, pathParameters, queryParameters, headerParameters } = plan;
  const parameters = [
    ...pathParameters.map((parameter) => describeParameter(parameter, 'path')),
    ...queryParameters.map((parameter) => describeParameter(parameter, 'query')),
    ...headerParameters.map((parameter) => describeParameter(parameter, 'header')),
  ];
  return {
    operationId: plan.operationId,
    tags: documentation.tags,
    summary: documentation.summary,
    description: documentation.description ?? defaultDescription(plan, needsToken),
    ...(documentation.deprecated ? { deprecated: true } : {}),
    security: securityOf(needsToken),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(plan.body === undefined ? {} : { requestBody: describeBody(plan) }),
    responses: mapResponses(plan, plans),
    'x-viewset': describeView(plan),
  };
}

/** Describes what OpenAPI has no keyword for, for programs that generate pages or clients. */
function describeView(plan: OperationPlan): JsonObject {
  const { view, action, variant, detail, permissions, envelope, pageMembers, writeShapes, isLive } = plan;
  const { basename, entity, key } = view;
  return {
    view: basename,
    action,
    ...(variant === undefined ? {} : { variant }),
    detail,
    ...(entity === undefined ? {} : { entity }),
    ...(key === undefined ? {} : { key }),
    ...(envelope === undefined ? {} : { envelope }),
    ...(Object.keys(pageMembers).length === 0 ? {} : { pageMembers }),
    ...(writeShapes.length < 2 ? {} : { writeShapes }),
    ...(isLive ? { live: true } : {}),
    permissions: permissions.map((permission) => permission.constructor.name),
  };
}

function mapResponses(plan: OperationPlan, plans: PlansByPath): JsonObject {
  const { responses, documentation, view, envelope } = plan;
  const described = Object.entries(responses).map(([status, response]) => {
    const schema = answerSchema(response);
    const links = Number(status) < 300 ? linksOf(plan, schema, plans) : undefined;
    const example = jsonValue(documentation.examples.responses?.[Number(status)]);
    const worded = changeInside(schema, envelope, (inside) => withWords(inside, view.fieldWords));
    const answer = describeResponse(response, worded, example);
    const streamed = plan.isLive && status === '200' ? describingStream(answer) : answer;
    return [status, { ...streamed, ...(links === undefined ? {} : { links }) }];
  });
  return Object.fromEntries(described) as JsonObject;
}

/**
 * Mentions the event stream of a live list in its description. As a separate media type, it would change the list's
 * response type in generated clients to a string or a list, although they all request JSON.
 */
function describingStream(answer: JsonObject): JsonObject {
  const description = `${String(answer['description'])}. With "Accept: text/event-stream", the list and its changes as Server-Sent Events`;
  return { ...answer, description };
}

/** Adds the library's responses, and the need for a token, to an operation of the application. */
export function completeOperation(
  operation: JsonObject,
  { responses, needsToken, hasOptionalBody }: Pick<DocumentedRoute, 'responses' | 'needsToken' | 'hasOptionalBody'>,
): JsonObject {
  const stated = operation['responses'] as Readonly<Record<string, JsonObject>>;
  const all: Record<string, JsonObject> = { ...stated };
  const saysSuccess = Object.keys(stated).some((status) => /^(?:2XX|default)$/i.test(status));
  for (const [status, response] of Object.entries(responses)) {
    const described = describeResponse(response, answerSchema(response), undefined);
    const declared = stated[status];
    if (declared === undefined && saysSuccess && status.startsWith('2')) continue;
    all[status] = declared === undefined ? described : withHeaders(asDeclared(declared, status), described['headers']);
  }
  return {
    ...operation,
    ...(hasOptionalBody && isObject(operation['requestBody'])
      ? { requestBody: { ...operation['requestBody'], required: false } }
      : {}),
    ...(operation['security'] === undefined && needsToken !== undefined ? { security: securityOf(needsToken) } : {}),
    responses: all,
  };
}

/** Replaces the placeholder description of `@fastify/swagger` with the status text. */
function asDeclared(response: JsonObject, status: string): JsonObject {
  const isDefault = response['description'] === 'Default Response';
  return { ...response, ...(isDefault ? { description: STATUS_CODES[status] ?? status } : {}) };
}

function withHeaders(response: JsonObject, headers: unknown): JsonObject {
  return headers === undefined
    ? response
    : { ...response, headers: { ...headers, ...(response['headers'] as object) } };
}

function securityOf(needsToken: boolean): readonly JsonObject[] {
  return needsToken ? [{ [SECURITY_SCHEME]: [] }] : [];
}

function defaultDescription({ documentation: { summary } }: OperationPlan, needsToken: boolean): string {
  return `${summary}. ${needsToken ? 'Needs a token.' : 'Needs no token.'}`;
}

/** Moves some keywords of a parameter's schema to the parameter, where OpenAPI has them. */
function describeParameter(
  { name, required, schema, isCommaSeparated = false, pages }: OperationParameter,
  place: 'path' | 'query' | 'header',
): JsonObject {
  const { description, deprecated, examples, ...rest } = requestSchema(documentSchema(schema)) as JsonObject;
  return {
    name: place === 'header' ? headerName(name) : name,
    in: place,
    ...(required ? { required } : {}),
    ...(description === undefined ? {} : { description }),
    ...(deprecated === true ? { deprecated } : {}),
    // An empty value counts as absent.
    ...(place === 'query' && !required ? { allowEmptyValue: true } : {}),
    ...(rest['type'] === 'array' ? { style: 'form', explode: !isCommaSeparated } : {}),
    schema: rest,
    ...examplesOf(examples),
    ...(pages === undefined ? {} : { 'x-viewset': { pages } }),
  };
}

/** Adds a view's descriptions of its fields to the schema of a record, of its variants, or of a list of records. */
function withWords(schema: unknown, words: OperationPlan['view']['fieldWords']): unknown {
  if (!isObject(schema) || Object.keys(words).length === 0) return schema;
  const { items, properties, anyOf, oneOf } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: anyOf.map((each) => withWords(each, words)) };
  if (Array.isArray(oneOf)) return { ...schema, oneOf: oneOf.map((each) => withWords(each, words)) };
  if (isObject(items)) return { ...schema, items: withWords(items, words) };
  if (!isObject(properties)) return schema;
  const entries = Object.entries(properties).map(([name, property]) => {
    const inner = isObject(property) && isObject(property['items']) ? withWords(property, words) : property;
    return [name, Object.hasOwn(words, name) ? { ...(inner as object), ...words[name] } : inner] as const;
  });
  return { ...schema, properties: Object.fromEntries(entries) };
}

/** Converts JSON Schema's list of examples to OpenAPI's form beside the schema. */
function examplesOf(examples: unknown): JsonObject {
  if (!Array.isArray(examples) || examples.length === 0) return {};
  if (examples.length === 1) return { example: examples[0] as unknown };
  return { examples: Object.fromEntries(examples.map((value: unknown, index) => [`example${index + 1}`, { value }])) };
}

function describeBody({ body, documentation, view, envelope, writeShapes }: OperationPlan): JsonObject {
  const requested = (schema: unknown, at: string | undefined): unknown =>
    writeShapes.length < 2 ? sentSchema(schema) : changeInside(schema, at, (inside) => eachKind(inside, sentSchema));
  const worded = (schema: unknown): unknown => withWords(schema, view.fieldWords);
  const { schema: json, form, required, contentTypes } = body!;
  const example = jsonValue(documentation.examples.body);
  // JSON cannot contain files. If every variant requires one, only the form can be valid.
  const kinds = kindsOf(insideOf(json, envelope));
  const isFormAlone = form !== undefined && kindsOf(form).every((kind, index) => needsFile(kind, kinds[index]));
  const sent = isFormAlone ? contentTypes.filter((type) => type !== 'application/json') : contentTypes;
  const content = sent.map((type) => {
    const isForm = form !== undefined && type !== 'application/json';
    const schema = isForm ? form : json;
    const encoding = isForm ? encodingOf(form) : {};
    const at = isForm ? undefined : envelope;
    return [
      type,
      {
        ...(schema === undefined ? {} : { schema: changeInside(requested(documentSchema(schema), at), at, worded) }),
        ...(example === undefined || isForm ? {} : { example }),
        ...encoding,
      },
    ];
  });
  return { ...(required ? { required } : {}), content: Object.fromEntries(content) as JsonObject };
}

/** Changes the schema of a body, or of each array item, or of each variant. */
function eachKind(schema: unknown, change: (kind: unknown) => unknown): unknown {
  if (!isObject(schema)) return schema;
  const { items, anyOf } = schema;
  if (items !== undefined) return { ...schema, items: eachKind(items, change) };
  return Array.isArray(anyOf) ? { ...schema, anyOf: anyOf.map(change) } : change(schema);
}

/** Lists the variants of a body. */
function kindsOf(schema: unknown): readonly unknown[] {
  const { anyOf } = (schema ?? {}) as { readonly anyOf?: readonly unknown[] };
  return anyOf ?? [schema];
}

function sentSchema(schema: unknown): unknown {
  return requestSchema(withBytes(schema));
}

/** The schema of binary data that client generators know. The media type is given separately. */
const BYTES = { type: 'string', format: 'binary' };

/** Describes the file parts of a form. */
function withBytes(form: unknown): unknown {
  if (!isObject(form) || !isObject(form['properties'])) return form;
  const properties = Object.entries(form['properties']).map(([name, part]) => {
    return [name, isObject(part) && 'contentMediaType' in part ? { ...part, ...BYTES } : part] as const;
  });
  return { ...form, properties: Object.fromEntries(properties) };
}

interface Fields {
  readonly properties?: Readonly<Record<string, { readonly contentMediaType?: string }>>;
  readonly required?: readonly string[];
}

/** Tells if a form requires a part that JSON cannot contain, which is a file. */
function needsFile(form: unknown, json: unknown): boolean {
  const { required = [] } = form as Fields;
  const { properties = {} } = (json ?? {}) as Fields;
  return required.some((name) => !Object.hasOwn(properties, name));
}

/** Names the media types of a form's files. */
function encodingOf(form: unknown): JsonObject {
  const parts = kindsOf(form).flatMap((kind) => Object.entries((kind as Fields).properties ?? {}));
  const files = parts.filter(([, { contentMediaType }]) => contentMediaType !== undefined);
  return {
    encoding: Object.fromEntries(
      files.map(([name, { contentMediaType: contentType }]) => [name, { contentType }]),
    ) as JsonObject,
  };
}

/** The converted schemas of responses. Most responses are errors, which share one schema. */
const answerSchemas = new WeakMap<TSchema, unknown>();

function answerSchema({ schema }: OperationResponse): unknown {
  if (schema === undefined) return undefined;
  const written = answerSchemas.get(schema) ?? documentSchema(schema);
  answerSchemas.set(schema, written);
  return written;
}

/** @param schema the converted schema of the response */
function describeResponse(response: OperationResponse, schema: unknown, example: unknown): JsonObject {
  const headers = Object.entries(response.headers).map(([name, header]) => [headerName(name), describeHeader(header)]);
  return {
    description: response.description,
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) as JsonObject }),
    ...(response.schema === undefined ? {} : { content: contentOf(schema, example) }),
  };
}

/** Writes the body of a response by media type: the types in its schema, or JSON. */
function contentOf(schema: unknown, example: unknown): JsonObject {
  const { contentMediaType, ...text } = isObject(schema) ? schema : {};
  const isJson = typeof contentMediaType !== 'string';
  const media = { schema: isJson ? schema : text, ...(example === undefined ? {} : { example }) };
  const types = isJson ? ['application/json'] : contentMediaType.split(', ');
  return Object.fromEntries(types.map((type) => [type, media]));
}

function describeHeader(header: unknown): JsonObject {
  const { description, ...schema } = documentSchema(header) as JsonObject;
  return { ...(description === undefined ? {} : { description }), schema };
}

const SPELLINGS: Readonly<Record<string, string>> = { ratelimit: 'RateLimit', www: 'WWW', etag: 'ETag' };

/** Converts `retry-after` to `Retry-After`. */
function headerName(name: string): string {
  const words = name.split('-').map((word) => SPELLINGS[word] ?? capitalized(word));
  return words.join('-');
}
