import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { UploadRequest } from '../../files/direct-uploads.ts';
import { refusalStatus } from '../../errors/errors.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { isAllowAny } from '../../permissions/built-in-permissions.ts';
import { Permission, type PermissionView } from '../../permissions/permission.ts';
import { invalidInput } from '../../schema/error-details.ts';
import type { FileBoundField } from '../../shapes/write/bound-write-shape.ts';
import { HTTP_201_CREATED } from '../../http/status.ts';
import { admitsSender, tryPermission } from '../../view/request/permission-check.ts';
import { uploadPlace, type ViewInput } from '../../view/write/view-input.ts';
import { type Action, action, type ActionOptions } from '../../view/setup/action.ts';
import { INPUT_OPERATIONS, type InputOperation } from '../../view/request/operation.ts';
import type { FeaturedView } from '../../view/setup/feature.ts';
import type { ViewPermissions } from '../../view/setup/view-permissions.ts';

const NAME = Type.String({ minLength: 1, maxLength: 1024, description: 'The name of the file' });
const SIZE = Type.Integer({ minimum: 0, description: 'Bytes' });
const TYPE = Type.String({
  maxLength: 255,
  pattern: '^(?:[\\w!#$&^.+-]+/[\\w!#$&^.+-]+(?:;.*)?)?$',
  description: 'The media type; empty: unknown',
});

const BEGUN = Type.Object(
  {
    upload: Type.String({ description: 'Names the upload in a body, for a day' }),
    url: Type.String({ format: 'uri', description: 'Takes the bytes of the file' }),
    method: Type.Literal('PUT'),
    headers: Type.Object(
      {},
      { additionalProperties: Type.String(), description: 'The headers to send with the bytes' },
    ),
    expires_at: Type.String({ format: 'date-time', description: 'The time until which the upload may begin' }),
  },
  { title: 'Upload' },
);

/** Makes the action that signs uploads to the store. None for a view whose bodies have no direct uploads. */
export function uploadActions(
  view: FeaturedView,
  input: ViewInput,
  operations: readonly string[],
  permissions: ViewPermissions,
): ReadonlyMap<string, Action> {
  const { uploads } = input;
  const offered = INPUT_OPERATIONS.filter((operation) => operations.includes(operation));
  if (uploads === undefined || offered.length === 0) return new Map();
  const names = [...new Set(input.directFiles.map(({ sentAs }) => sentAs))];
  const field = Type.Unsafe<string>({ type: 'string', enum: names, description: 'The field that the file is for' });
  const body = Type.Object({
    field: names.length > 1 ? field : Type.Optional(field),
    name: NAME,
    size: SIZE,
    type: TYPE,
  });
  const found = new WeakMap<FastifyRequest, Promise<readonly FileBoundField[]>>();
  /** Shared by the permission and the handler. */
  const fieldsOf = (request: FastifyRequest): Promise<readonly FileBoundField[]> =>
    getOrMake(found, request, () => fieldsFor(request, view, input));
  const options = {
    methods: ['post'],
    urlPath: 'uploads',
    body,
    responses: { [HTTP_201_CREATED]: BEGUN },
    idempotency: 'off',
    // It writes to the store alone.
    transaction: false,
    ...permissionsToUpload(view, offered, permissions, fieldsOf),
    summary: 'Ask for an upload',
    description: 'Signs a URL that takes the bytes of one file. A body of create or update then names the upload.',
  } as const;
  const begin = action(options, async (request, reply) => {
    const { field: given, ...upload } = request.body as UploadRequest & { readonly field?: string };
    const wanted = given ?? names[0];
    const fields = (await fieldsOf(request)).filter(({ sentAs }) => sentAs === wanted);
    if (fields.length === 0) throw invalidInput('body', [{ path: '/field', message: 'must be one you may write' }]);
    void reply.code(HTTP_201_CREATED);
    return beginForOne(fields, ({ file, name }) => uploads.begin(file, uploadPlace(request, name), upload));
  });
  return new Map([['upload', begin]]);
}

/**
 * Returns the permissions of the view, plus one: the client must be allowed to create or update records with a file. As
 * a permission, it also applies to OPTIONS. If the operations have different permissions, that one stands alone, because
 * it checks the permissions of create and update.
 */
function permissionsToUpload(
  view: FeaturedView,
  offered: readonly InputOperation[],
  permissions: ViewPermissions,
  fieldsOf: (request: FastifyRequest) => Promise<readonly FileBoundField[]>,
): Pick<ActionOptions, 'permissionClasses' | 'scope' | 'allowAnonymous'> {
  class MayWriteFiles extends Permission {
    override async hasPermission(request: FastifyRequest): Promise<boolean> {
      return (await fieldsOf(request)).length > 0;
    }
  }
  const allowAnonymous =
    view.allowAnonymous ?? offered.some((operation) => isAllowAny(permissions.declaredFor(operation)));
  const ofView = permissions.areByOperation ? [] : permissions.classesFor(offered[0]!);
  // The view's classes are included, with their scopes.
  return { permissionClasses: [...ofView, MayWriteFiles], scope: 'unrestricted', allowAnonymous };
}

/**
 * Lists the fields that a request may upload files for: the file fields of the shapes that its sender may create or
 * update records with.
 */
async function fieldsFor(
  request: FastifyRequest,
  view: PermissionView,
  input: ViewInput,
): Promise<readonly FileBoundField[]> {
  const fields: FileBoundField[] = [];
  const known = request.params as Readonly<Record<string, string>>;
  for (const route of request.server.viewset.plannedRoutes) {
    const { plan } = route;
    const operation = INPUT_OPERATIONS.find((each) => each === plan.action);
    if (route.view !== view || operation === undefined || plan.variant !== undefined) continue;
    // The write itself is checked again, with its record and its body.
    if (!(await admitsSender(route, request, known))) continue;
    const shape = await tryPermission(plan, request, (simulated) => input.of(simulated, operation).shape, known);
    if (shape === 'refused') continue;
    // The shape depends on the body or the record of the write.
    const shapes = shape === 'undecided' ? input.choicesFor(operation).map((each) => each.shape) : [shape.result];
    fields.push(...shapes.flatMap(({ directFiles }) => directFiles));
  }
  return fields;
}

/**
 * Begins an upload for the first of several fields of one name that accepts the file. Shapes may have different limits.
 */
async function beginForOne<Begun>(
  [field, ...others]: readonly FileBoundField[],
  begin: (field: FileBoundField) => Promise<Begun>,
): Promise<Begun> {
  try {
    return await begin(field!);
  } catch (error) {
    if (others.length === 0 || refusalStatus(error) === undefined) throw error;
    return beginForOne(others, begin);
  }
}
