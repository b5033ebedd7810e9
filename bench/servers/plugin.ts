/** plugin: the routes of raw below the plugins of core and auth: the cost of the plugins without views. */
import { addRoutes, openStore } from './raw/routes.ts';
import { type BenchServer, serve } from './serve.ts';
import { withPlugins } from './with-plugins.ts';

await serve(async (settings): Promise<BenchServer> => {
  const store = openStore(settings.kind, settings.location);
  const app = await withPlugins(settings);
  app.addHook('onClose', async () => store.close());
  addRoutes(app, store);
  return { app };
});
