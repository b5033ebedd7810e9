/** The canonical text of one of MongoDB's own keys, which every JSON value and path has. */
export const OBJECT_ID_PATTERN = '^[0-9a-f]{24}$';

/** An ObjectId of MongoDB's driver, by its form: nothing of a driver is imported. */
export interface ObjectIdLike {
  toHexString(): string;
}
