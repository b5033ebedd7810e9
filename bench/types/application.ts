import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes an application of so many entities and views; the last file is a client of them all, if requested. */
export function writeApplication(folder: string, views: number, hasClient: boolean): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'owner.ts'), OWNER);
  const numbers = Array.from({ length: views }, (_, index) => index);
  for (const number of numbers) writeFileSync(join(folder, `thing-${number}.ts`), viewFile(number));
  const imports = numbers.map((number) => `import { ThingViewSet${number} } from './thing-${number}.ts';`);
  const chain = numbers.map((number) => `  .register('things${number}', ThingViewSet${number})`);
  const router = `export const router = new Router({ prefix: 'api' })\n${chain.join('\n')};\nexport type Api = typeof router;\n`;
  writeFileSync(join(folder, 'server.ts'), `import { Router } from '@viewset/core';\n${imports.join('\n')}\n${router}`);
  if (hasClient) writeFileSync(join(folder, 'client.ts'), clientFile(numbers));
}

const OWNER = `import { defineEntity, p } from '@mikro-orm/core';

const OwnerSchema = defineEntity({
  name: 'Owner',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique(), password: p.string().hidden() },
});
export class Owner extends OwnerSchema.class {}
OwnerSchema.setClass(Owner);
`;

function viewFile(number: number): string {
  return `import { action, type InputOf, IsAuthenticated, ModelViewSet, readShape, type WriteData, writeShape } from '@viewset/core';
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Owner } from './owner.ts';

const ThingSchema = defineEntity({
  name: 'Thing${number}',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    price${number}: p.decimal('number').precision(10).scale(2),
    stock: p.integer().default(0),
    made_at: p.datetime(3).onCreate(() => new Date()),
    note: p.text().nullable(),
    owner: () => p.manyToOne(Owner),
    seller: () => p.manyToOne(Owner).nullable(),
  },
});
export class Thing${number} extends ThingSchema.class {}
ThingSchema.setClass(Thing${number});

const write = writeShape(Thing${number}, ['name', 'price${number}'], { stock: Type.Optional(Type.Integer({ minimum: 0 })) });

export class ThingViewSet${number} extends ModelViewSet(Thing${number}, {
  read: readShape(Thing${number}, ['id', 'name', 'price${number}', 'stock', 'made_at'], { owner: 'owner.name' }),
  write,
  searchFields: ['name', '^owner__name'],
  filterFields: { min_price: 'price${number}__gte', owner: 'owner__name', name: 'name__icontains' },
  jsonLogicFields: ['name', 'owner.name'],
  orderingFields: { name: 'name', price: 'price${number}' },
  permissionClasses: [IsAuthenticated],
}) {
  override performCreate(request: FastifyRequest, data: WriteData<Thing${number}, InputOf<typeof write>>) {
    return super.performCreate(request, { ...data, owner: 1 });
  }

  recount = action(
    { methods: ['post'], detail: true, body: Type.Object({ stock: Type.Integer() }), response: Type.Object({ stock: Type.Integer() }) },
    async (request) => ({ stock: (await this.getObject(request)).stock + request.body.stock }),
  );
}
`;
}

function clientFile(numbers: readonly number[]): string {
  const calls = numbers.map(
    (
      number,
    ) => `export const page${number} = await api.things${number}.list({ search: 'tea', min_price: 5, sort: '-price' });
export const made${number} = await api.things${number}.create({ name: page${number}.results[0]!.name, price${number}: 4.5 });`,
  );
  return `import { createClient } from '@viewset/client';
import type { Api } from './server.ts';

const api = createClient<Api>({ url: 'https://shop.example/api' });
${calls.join('\n')}
`;
}
