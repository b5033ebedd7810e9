import type { ResolvedView } from '../setup/resolved-view.ts';
import type { VisibleRecords } from '../records/visible-records.ts';
import type { RecordWrites } from '../write/record-writes.ts';

/** The parts of a registered view that its operations use. */
export interface ViewParts<Entity extends object> {
  /** The declarations of the view. */
  readonly resolved: ResolvedView;
  /** The records that a request sees. */
  readonly records: VisibleRecords<Entity>;
  /** The steps that all writes share. */
  readonly writes: RecordWrites<Entity>;
}
