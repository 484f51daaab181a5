import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { longIt } from './length.js';
import { createDirectory, Deployment, eventually, Program } from './processes.js';

const root = resolve(__dirname, '..');
const read = (name: string) => readFileSync(join(root, name), 'utf8');

/** The instructions of a stage of the Dockerfile, with continued lines joined. */
function stage(which: 'build' | 'image'): { name: string; rest: string }[] {
  const text = read('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '');
  const stages = text.split(/^(?=FROM )/m).map((part) =>
    part
      .trim()
      .split('\n')
      .map((line) => ({ name: line.split(' ')[0]!, rest: line.replace(/^\w+ +/, '') })),
  );
  expect(stages).toHaveLength(2);
  return stages[which === 'build' ? 0 : 1]!;
}

describe('the Dockerfile', () => {
  it('copies only existing paths that .dockerignore allows', () => {
    const passes = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => new RegExp(`^${line.slice(1).replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`));
    const sources = stage('build')
      .filter(({ name }) => name === 'COPY')
      .flatMap(({ rest }) => rest.split(' ').slice(0, -1));
    expect(sources).toEqual(expect.arrayContaining(['package.json', 'src', 'libs', 'migrations']));
    for (const source of sources) {
      expect([source, existsSync(join(root, source))]).toEqual([source, true]);
      expect([source, passes.some((pattern) => pattern.test(source))]).toEqual([source, true]);
    }
  });

  longIt(
    'builds an image that has its programs, and whose command line works from any directory',
    async () => {
      const directory = await createDirectory();
      const deployment = await Deployment.create();
      const here = (path: string) => join(directory.path, path);
      // The contents of the image, built here by the same instructions.
      await mkdir(here('usr/local/bin'), { recursive: true });
      for (const { name, rest } of stage('image')) {
        if (name !== 'COPY') continue;
        const [from, what, to] = rest.split(' ') as [string, string, string];
        expect(from).toBe('--from=build');
        const target = join(here('app'), to === './' ? what.replace('/app/', '') : to);
        const source = what.replace('/app', root);
        if (to === 'node_modules') await symlink(source, target);
        else await cp(source, target, { recursive: true });
      }
      const inScratch = (command: string) =>
        command.replaceAll(/(?<= )\/(?=app|usr|data)/g, `${directory.path}/`);
      const executable = stage('build').flatMap(({ rest }) => /chmod \S+ \S+/.exec(rest) ?? []);
      const runs = stage('image').flatMap(({ name, rest }) => (name === 'RUN' ? inScratch(rest) : []));
      for (const command of [...executable, ...runs]) {
        const done = await new Program('sh', ['-c', command], {}, here('app')).ended;
        expect(done).toMatchObject({ status: 0, stderr: '' });
      }

      const [command] = stage('image').filter(({ name }) => name === 'CMD');
      const [program, ...settings] = JSON.parse(command!.rest) as string[];
      const main = settings.pop()!;
      expect(existsSync(here(join('app', main)))).toBe(true);
      const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } };
      expect(scripts.start).toBe(['exec', program, ...settings, 'scripts/start.mjs'].join(' '));
      expect(read('scripts/start.mjs')).toMatch(`#!/usr/bin/env -S ${[program, ...settings].join(' ')}\n`);

      const environment = { ...deployment.environment, PATH: `${here('usr/local/bin')}:${process.env.PATH}` };
      const advocacy = (...args: string[]) => new Program('advocacy', args, environment, '/').ended;
      expect((await advocacy('--help')).stdout).toMatch(/^Usage: advocacy \[options\]/);
      const { status, stdout, stderr } = await advocacy('organization', 'create', '--name', 'Rivers');
      expect([status, stderr, JSON.parse(stdout)]).toEqual([
        0,
        '',
        expect.objectContaining({ organizationId: expect.any(String), key: expect.stringMatching(/^adv_/) }),
      ]);
      await deployment.stop();
      await directory.remove();
    },
  );
});

describe('docker-compose.yml', () => {
  const { services } = parse(read('docker-compose.yml')) as { services: Record<string, any> };

  it('passes on each variable that applies to a container', () => {
    const explained = read('.env.example') + read('scripts/rare.env');
    const known = [...explained.matchAll(/^# ?([A-Z_]+)=/gm)].map(([, name]) => name!);
    // The container sets its own address, has no embedded PostgreSQL, and gets the password in DATABASE_URL.
    const elsewhere = ['HOST', 'PORT', 'DATA_DIR', 'DATABASE_PASSWORD'];
    const wanted = known.filter((name) => !elsewhere.includes(name));
    expect(Object.keys(services.api.environment)).toEqual(expect.arrayContaining(wanted));
  });

  it('has the services and programs that the documented commands use', () => {
    const commands = [...read('docs/guides/containers.md').matchAll(/docker compose (?:run|exec)\b.*/g)].map(
      ([line]) => line,
    );
    expect(commands.length).toBeGreaterThan(0);
    for (const line of commands) expect(line).toMatch(/ api advocacy /);
    expect(Object.keys(services)).toEqual(expect.arrayContaining(['api', 'postgres', 'redis']));
  });
});

describe('a server on an empty database', () => {
  const HINT = 'no organization exists yet: run this command to create one and print its first API key';

  longIt('logs once how to create the first organization, and no longer once one exists', async () => {
    const deployment = await Deployment.create();
    const first = await deployment.startServer();
    await eventually(() => expect(first.log.map(({ message }) => message)).toContain(HINT));
    expect(first.log.filter(({ message }) => message === HINT)).toEqual([
      expect.objectContaining({
        inCompose: 'docker compose exec api advocacy organization create --name Rivers',
        inCheckout: 'npm run -s cli -- organization create --name Rivers',
      }),
    ]);

    await deployment.organization();
    const second = await deployment.startServer();
    expect((await fetch(`${second.origin}/health/ready`)).status).toBe(200);
    expect((await second.end('SIGTERM')).stdout).not.toContain(HINT);
    await deployment.stop();
  });
});
