/** Fifty products to look at: five makes of ten things, a few of them sold out. */
const MAKES = ['Oak', 'Steel', 'Bamboo', 'Walnut', 'Linen'];
const THINGS = ['Chair', 'Table', 'Lamp', 'Shelf', 'Stool', 'Tray', 'Clock', 'Mirror', 'Basket', 'Bench'];
/** In cents, by thing. */
const PRICES = [8900, 24900, 4950, 12900, 5900, 1990, 3999, 7425, 1499, 15900];

export interface CatalogueEntry {
  readonly name: string;
  readonly price: number;
  readonly stock: number;
}

export const CATALOGUE: readonly CatalogueEntry[] = MAKES.flatMap((make, makeIndex) =>
  THINGS.map((thing, thingIndex) => ({
    name: `${make} ${thing}`,
    price: (PRICES[thingIndex]! + makeIndex * 350) / 100,
    stock: ((makeIndex + 1) * (thingIndex + 3)) % 7 === 0 ? 0 : (makeIndex * 13 + thingIndex * 7) % 40,
  })),
);
