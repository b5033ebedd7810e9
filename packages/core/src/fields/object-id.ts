/** The canonical text of a MongoDB ObjectId, as in JSON and paths. */
export const OBJECT_ID_PATTERN = '^[0-9a-f]{24}$';

/** The structure of an ObjectId of MongoDB's driver. It avoids an import of the driver. */
export interface ObjectIdLike {
  toHexString(): string;
}
