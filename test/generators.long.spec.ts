import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The tools of integrators. This test installs them, because no other needs their 160 MB.
 */
const TOOLS = [
  '@stoplight/spectral-cli@6.16.3',
  'openapi-typescript@7.13.0',
  '@hey-api/openapi-ts@0.95.0',
  'orval@7.13.2',
];
const root = join(__dirname, '..');
/** On a disk, because of its size. Temporary files of tests are in memory. */
const directory = mkdtempSync('/var/tmp/advocacy-generators-');
const file = (name: string) => join(directory, name);

function run(program: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: directory, encoding: 'utf8' });
  return status === 0 ? stdout : `${program} failed:\n${stdout}\n${stderr}`;
}
const tool = (name: string, args: string[]) => run(file(`node_modules/.bin/${name}`), args);

/** @returns the errors. The packages of a generated client are not ours, so only its own code is checked. */
function compile(sources: string, options: object = {}): string {
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], lib: ['es2022', 'dom', 'dom.iterable'] },
    ...{ target: 'es2022', module: 'esnext', moduleResolution: 'bundler' },
    ...options,
  };
  writeFileSync(file('tsconfig.json'), JSON.stringify({ compilerOptions, include: [sources] }));
  return run(join(root, 'node_modules/.bin/tsc'), ['--project', directory]);
}

beforeAll(() => {
  writeFileSync(file('package.json'), JSON.stringify({ type: 'module', private: true }));
  writeFileSync(file('.spectral.yaml'), 'extends: spectral:oas\n');
  writeFileSync(file('openapi.json'), readFileSync(join(root, 'test/openapi.json')));
  const npm = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', ...TOOLS];
  expect(run('npm', npm)).not.toContain('failed');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('the document follows the recommended rules of Spectral, without warnings', () => {
  const report = tool('spectral', ['lint', 'openapi.json', '--fail-severity=hint', '--format=json']);
  expect(report.trim()).toMatch(/^\[\]/);
});

it('openapi-typescript generates types that compile', () => {
  expect(tool('openapi-typescript', ['openapi.json', '--output', 'types/openapi.ts'])).not.toContain(
    'failed',
  );
  expect(readFileSync(file('types/openapi.ts'), 'utf8')).toContain('createContact');
  expect(compile('types/openapi.ts', { exactOptionalPropertyTypes: true })).toBe('');
});

it('hey-api generates a client that compiles, with types for exact optional properties', () => {
  expect(tool('openapi-ts', ['-i', 'openapi.json', '-o', 'hey'])).not.toContain('failed');
  expect(readFileSync(file('hey/sdk.gen.ts'), 'utf8')).toContain('createContact');
  expect(compile('hey/**/*.ts')).toBe('');
  // The generator's own runtime does not compile with this option.
  const types = ['-i', 'openapi.json', '-o', 'hey-types', '-p', '@hey-api/typescript'];
  expect(tool('openapi-ts', types)).not.toContain('failed');
  expect(compile('hey-types/**/*.ts', { exactOptionalPropertyTypes: true })).toBe('');
});

it('orval generates a client that compiles, also for exact optional properties', () => {
  const args = ['--input', './openapi.json', '--output', './orval/client.ts', '--client', 'fetch'];
  expect(tool('orval', args)).not.toContain('failed');
  expect(readFileSync(file('orval/client.ts'), 'utf8')).toContain('createContact');
  expect(compile('orval/*.ts', { exactOptionalPropertyTypes: true })).toBe('');
});
