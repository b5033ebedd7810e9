export { MongoExtension } from './mongo-extension.ts';
