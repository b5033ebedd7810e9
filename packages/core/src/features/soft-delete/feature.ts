import type { PermissionClass } from '../../permissions/permission.ts';
import type { Or } from '../../view/model-viewset.ts';
import { action, type ActionOptions } from '../../view/setup/action.ts';
import { type Feature, type FeatureParts, type FeatureView, STEPS } from '../../view/setup/feature.ts';
import type { Option } from '../../view/setup/model-viewset-options.ts';
import type { Operation } from '../../view/request/operation.ts';
import { SOFT_DELETE_RULE, SoftDelete, type SoftDeleteOption } from './soft-delete.ts';

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * The property that stores the time of deletion. DELETE sets it, and the view no longer shows the record. No body can
     * refer to the record, unless `referenceViews` names a view that shows it. `{ property, visibleTo }` adds a list of
     * deleted records and an action that restores one. Default: DELETE deletes the record.
     *
     * @example
     * class KeptViewSet extends ModelViewSet(Product, {
     *   read,
     *   write,
     *   softDelete: { property: 'deleted_at', visibleTo: [IsRoleAdminUser] },
     * }) {}
     * // DELETE /products/7: update product set deleted_at = … where id = 7 and deleted_at is null
     * // GET /products/deleted, POST /products/7/restore
     */
    readonly softDelete?: SoftDeleteOption<Entity>;
  }
}

declare module '../../view/model-viewset.ts' {
  interface DeclaredFeatures<Entity, Options> {
    /** True if the view lists deleted records, and restores them. */
    readonly restores: Or<Option<Options, 'softDelete'>, ''> extends { readonly visibleTo: object } ? true : false;
  }
}

/** The option `softDelete`: leaves out deleted records, and adds the routes for those who may see them. */
export const SOFT_DELETE: Feature<SoftDeleteOption<object>> = {
  option: 'softDelete',
  rule: SOFT_DELETE_RULE,
  resolve: (view, option) => {
    const { name, meta, input, key } = view;
    const sent = (input?.shapes ?? []).flatMap(({ fields }) => fields.map((field) => field.name));
    const written = [...sent, ...(input?.filled ?? [])];
    const softDelete = new SoftDelete({ name, meta, written, isSingleton: key.singleton !== undefined }, option);
    const narrow: FeatureParts['narrow'] = (request, records) => records.where(softDelete.conditionFor(request));
    const { visibleTo } = softDelete;
    // Without `visibleTo`, nobody can see deleted records.
    if (visibleTo === undefined) return { narrow, deletion: softDelete };
    return { narrow, deletion: softDelete, ...routesOfDeleted(view, softDelete, visibleTo) };
  },
};

function routesOfDeleted(
  feature: FeatureView,
  softDelete: SoftDelete,
  visibleTo: readonly PermissionClass[],
): Pick<FeatureParts, 'actions' | 'routes'> {
  const { view, outputs } = feature;
  // Who may delete records may restore them, if `visibleTo` agrees.
  const toRestore = permissionsForDeleted(feature, 'destroy', visibleTo);
  const restore = action({ methods: ['post'], detail: true, answers: 'record', ...toRestore }, async (request) => {
    const { writes } = view[STEPS];
    const entity = await feature.getObject(request);
    await writes.writeAndNotify(request, 'update', [entity], async () => {
      softDelete.unmark(request.em, entity);
      await writes.flush(request);
      return [entity];
    });
    return (await writes.readStored(request, outputs.of(request, 'retrieve'), entity)).record;
  });
  return {
    actions: new Map([['restore', restore]]),
    routes: (operations) => {
      const list = operations.find((route) => route.action === 'list' && route.method === 'GET');
      if (list === undefined) return [];
      const { responses } = list.options;
      return [
        {
          ...list,
          action: 'deleted',
          suffix: '/deleted',
          urlName: 'deleted',
          options: { responses, listParameters: true, ...permissionsForDeleted(feature, 'list', visibleTo) },
          // `expand` and `fields` belong to the five operations.
          outputParameters: undefined,
          proof: 'none',
        },
      ];
    },
  };
}

/**
 * Returns the permission options of an action for deleted records. A request must pass both the permissions of an
 * operation of the view and `visibleTo`. The route always needs a token, even if both lists allow anonymous requests.
 */
function permissionsForDeleted(
  { permissions }: FeatureView,
  operation: Operation,
  visibleTo: readonly PermissionClass[],
): Pick<ActionOptions, 'permissionClasses' | 'scope' | 'allowAnonymous'> {
  const permissionClasses = [...permissions.classesFor(operation), ...visibleTo];
  // The view's classes are included, with their scopes.
  return { permissionClasses, scope: 'unrestricted', allowAnonymous: false };
}
