import { newRouter } from '../../../library.ts';

// oxlint-disable-next-line import/no-default-export -- @fastify/autoload and fastify-cli look for it
export default newRouter().plugin;
