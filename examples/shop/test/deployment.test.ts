/**
 * The files of a deployment, as far as they can be tested without a container engine: they parse, and the files, variables and services
 * that they name exist in the shop.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parse } from 'yaml';
import { readSettings } from '../src/settings.ts';

const ROOT = new URL('../../../', import.meta.url);
const SHOP = new URL('examples/shop/', ROOT);
const exists = (path: string, base = ROOT): boolean => existsSync(fileURLToPath(new URL(path, base)));
const read = (name: string): string => readFileSync(new URL(name, SHOP), 'utf8');

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly volumes?: readonly string[];
  readonly networks: readonly string[];
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: object;
  readonly networks: object;
}

t.test('compose.yaml', async (t) => {
  const { services, ...top } = parse(read('compose.yaml'), { merge: true, strict: true, uniqueKeys: true }) as Compose;
  t.same(Object.keys(services).toSorted(), ['balancer', 'mail', 'migrate', 'postgres', 'redis', 'shop-1', 'shop-2']);
  for (const [name, service] of Object.entries(services)) {
    t.match(service.image, /^[\w./-]+(:[\w.-]+)?$/, `${name} has an image`);
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      t.ok(services[other], `${name} waits for ${other}, which there is`);
      if (condition === 'service_healthy') t.ok(services[other]?.healthcheck, `${other} can be healthy`);
    }
    for (const network of service.networks) t.ok(Object.hasOwn(top.networks, network), `${name}: network ${network}`);
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':');
      t.ok(source.startsWith('./') ? exists(source, SHOP) : Object.hasOwn(top.volumes, source), `${name}: ${source}`);
    }
  }
  for (const name of ['shop-1', 'shop-2', 'migrate']) {
    const { build, command = [], environment = {} } = services[name]!;
    t.ok(exists(build!.dockerfile, new URL(`${build!.context}/`, SHOP)), `${name}: its Dockerfile`);
    for (const file of command.slice(1)) t.ok(exists(file, SHOP), `${name} runs ${file}`);
    t.same(services['shop-1']!.environment, environment, `${name} has the settings of the others`);
  }
});

t.test('the environment of compose.yaml has valid settings of the shop', async (t) => {
  const { services } = parse(read('compose.yaml'), { merge: true }) as Compose;
  const environment = services['shop-1']!.environment!;
  const readme = read('README.md');
  for (const name of Object.keys(environment)) t.ok(readme.includes(`\`${name}`), `${name} is documented`);
  const given = Object.entries(environment).map(([name, value]) => [
    name,
    value.replaceAll(/\$\{\w+:\?[^}]*\}/g, 'x'.repeat(32)),
  ]);
  const settings = readSettings(Object.fromEntries(given) as Record<string, string>);
  t.match(settings, { production: true, trustProxy: ['uniquelocal'], smtpUrl: 'smtp://mail:1025' });
});

t.test('Dockerfile', async (t) => {
  const lines = read('Dockerfile').split('\n');
  const allowed = read('Dockerfile.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const sources = lines
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));
  t.ok(sources.length > 0);
  t.same(sources.toSorted(), allowed.toSorted(), 'what is copied is what the build may see');
  for (const source of [...sources, ...allowed]) t.ok(exists(source), `${source} exists`);
  t.ok(lines.includes('USER node'), 'does not run as root');
  t.notMatch(read('Dockerfile'), /^(ENV|ARG) .*(SECRET|PASSWORD)/m, 'has no secret in it');
});

t.test('haproxy.cfg checks that the shops of compose.yaml are ready', async (t) => {
  const config = read('haproxy.cfg');
  t.match(config, /uri \/health\/ready/);
  const { services } = parse(read('compose.yaml'), { merge: true }) as Compose;
  for (const [, name = '', port] of config.matchAll(/^ {2}server \S+ ([\w-]+):(\d+)$/gm)) {
    t.ok(services[name], name);
    t.equal(port, '3000');
  }
});
