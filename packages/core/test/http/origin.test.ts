import t from 'tap';
import { isOrigin } from '../../src/index.ts';

t.test('an origin has the form that browsers send', async (t) => {
  const origins = ['https://app.example.com', 'http://localhost:3000', 'http://[::1]:8080'];
  for (const origin of origins) t.ok(isOrigin(origin), origin);
  const others = [
    'https://app.example.com/',
    'https://app.example.com:443',
    'HTTPS://app.example.com',
    'null',
    'app.example.com',
    '',
    null,
    7,
  ];
  for (const other of others) t.notOk(isOrigin(other), String(other));
});
