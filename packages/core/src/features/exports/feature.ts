import type { DeclaredRoute } from '../../view/setup/declared-route.ts';
import type { Feature } from '../../view/setup/feature.ts';
import type { ItemOf, Option } from '../../view/setup/model-viewset-options.ts';
import { EXPORT_TYPES, type ExportNameOf, type ExportOption, isExportOption, ListExport } from './list-export.ts';

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * The formats in which clients can get the whole filtered and ordered list, without pages. `csv` is at `/books.csv`
     * or by `Accept: text/csv`, `ndjson` at `/books.ndjson` or by `Accept: application/x-ndjson`. `csv({ bom, delimiter })`
     * writes CSV for Excel. Default: none.
     */
    readonly exports?: readonly ExportOption[];
  }
}

declare module '../../view/model-viewset.ts' {
  interface DeclaredFeatures<Entity, Options> {
    readonly exports: ExportNameOf<ItemOf<Option<Options, 'exports'>>>;
  }
}

/**
 * The option `exports`: the list in further formats. Each format has its own path, for links and documents. The path is
 * the list's path with an extension, which cannot be the path of a record.
 */
export const EXPORTS: Feature<readonly ExportOption[]> = {
  option: 'exports',
  rule: ['a list of formats', Array.isArray, ['"csv", csv({ … }) or "ndjson"', isExportOption]],
  resolve: ({ name, nesting, outputs }, formats) => {
    const file = new ListExport(name, formats);
    return {
      representations: file.formats.map((format) => ({
        type: EXPORT_TYPES[format],
        variant: format,
        send: async (request, reply, select) => {
          const records = await select();
          // The parent is looked up first: once an export has begun, its response can no longer become a 404.
          await nesting?.parent.find(request);
          return file.send(request, reply, EXPORT_TYPES[format], records, outputs.of(request, 'list'));
        },
      })),
      routes: (operations) => {
        const list = operations.find(({ action, method }) => action === 'list' && method === 'GET');
        if (list === undefined) return [];
        return [...file.schemas].map(([format, schema]): DeclaredRoute => ({
          ...list,
          suffix: `.${format}`,
          variant: format,
          urlName: `list-${format}`,
          options: { responses: { 200: schema }, listParameters: true },
          recordsAs: undefined,
          pageMembers: undefined,
          sendsJson: false,
          documented: undefined,
          readShapes: undefined,
        }));
      },
    };
  },
};
