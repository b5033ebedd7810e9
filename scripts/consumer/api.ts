/** The type of the API, for programs that have no Viewset server. */
import { describeApi } from '@viewset/client';
import type { Api } from './program.ts';

export const api = describeApi<Api>();
