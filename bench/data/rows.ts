/** The rows of the tables: made up, but the same on every run and every database. */
const MATERIALS = ['Steel', 'Oak', 'Linen', 'Copper', 'Glass', 'Wool', 'Cork', 'Slate'] as const;
const THINGS = ['lamp', 'chair', 'kettle', 'shelf', 'blanket', 'desk', 'bowl'] as const;

export const ROLES = ['admin', 'staff', 'user'] as const;

export type ProductRow = readonly [name: string, price: string, stock: number];
export type AccountRow = readonly [name: string, email: string, role: number | null, isActive: boolean];

/** The records of each relation to many that a basket has. */
export const CHILDREN = 10;
export const LABELS = 50;

export type LineRow = readonly [name: string, amount: number, basket: number];

/** The line of an id. The lines of a basket are not adjacent. */
export function lineRow(id: number, baskets: number): LineRow {
  return [productRow(id)[0], 1 + (id % 9), 1 + ((id - 1) % baskets)];
}

/** The labels of a basket, in no order. */
export function labelsOf(basket: number): number[] {
  return Array.from({ length: CHILDREN }, (_, index) => 1 + ((basket + index * 7) % LABELS));
}

/** The product of an id; ids count from 1. */
export function productRow(id: number): ProductRow {
  const random = scatter(id);
  const material = MATERIALS[random % MATERIALS.length]!;
  const thing = THINGS[(random >>> 3) % THINGS.length]!;
  const cents = 100 + ((random >>> 6) % 99_900);
  return [`${material} ${thing} ${id}`, (cents / 100).toFixed(2), (random >>> 9) % 500];
}

/** The account of an id; all can log in, and every seventh has no role. */
export function accountRow(id: number): AccountRow {
  const role = id % 7 === 0 ? null : (scatter(id) % ROLES.length) + 1;
  return [`Person ${id}`, `person-${id}@example.com`, role, true];
}

/** A number of 32 bits that looks as if it had nothing to do with `id` (the finaliser of MurmurHash3). */
function scatter(id: number): number {
  let mixed = Math.imul(id ^ (id >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
