export { type BodyFor, testApp, type TestApp, type TestAppOptions, type ClientOfUserOptions } from './test-app.ts';
export {
  emptyDatabase,
  type EmptyDatabase,
  missingServer,
  TEST_DATABASES,
  type SchemaOption,
  type TestDatabase,
} from './databases.ts';
export { expectQueries } from './expect-queries.ts';
export { Factory, type FactoryOverrides } from './factory.ts';
export { type CaughtMail, MailBox } from './mail-box.ts';
export { Clock, type Duration } from './clock.ts';
export { testViewSet } from './view-suite/test-view-set.ts';
export type { TestViewSetOptions, ViewSetCase } from './view-suite/options.ts';
export type { ViewClass } from './view-plans.ts';
