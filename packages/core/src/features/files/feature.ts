import { sentFiles, FILE_LINKS } from '../../view/files/file-links.ts';
import type { Feature } from '../../view/setup/feature.ts';
import { fileActions } from './file-actions.ts';
import { uploadActions } from './upload-action.ts';

/**
 * The files of write shapes: the routes that send the file of a record, and the one that signs an upload to the store.
 * Bodies with files are read by the view's input.
 */
export const FILES: Feature<unknown> = {
  option: 'write',
  rule: ['a write shape, or write shapes by name', () => true],
  resolve: (view) => {
    const { input, operations, permissions, view: sending } = view;
    if (input === undefined) return {};
    const sent = sentFiles(sending[FILE_LINKS]);
    const actions = [
      ...fileActions(sending, input.files, sent),
      ...uploadActions(sending, input, operations, permissions),
    ];
    return { actions: new Map(actions) };
  },
};
