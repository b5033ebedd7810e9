import fp from 'fastify-plugin';
import { addViewset, newOrm } from '../../library.ts';

// Without fp, the plugin would be for this file alone.
// oxlint-disable-next-line import/no-default-export -- @fastify/autoload and fastify-cli look for it
export default fp(async (app) => {
  const orm = await newOrm();
  app.addHook('onClose', () => orm.close(true));
  await addViewset(app, orm);
});
