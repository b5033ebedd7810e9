/** What a stranger's first program does with the published packages. */
import { NotFound } from '@viewset/core';

const error = new NotFound('No such invoice');
if (error.statusCode !== 404) throw new Error('NotFound is a 404');
console.log(JSON.stringify(error.toBody()));
