import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = process.cwd();

function bench(...args: string[]): string {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [join(root, 'scripts', 'bench.mjs'), ...args],
    {
      encoding: 'utf8',
    },
  );
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
}

it('every benchmark tells its options', () => {
  const list = bench('--help');
  const names = [...list.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name!);
  expect(names).toEqual(expect.arrayContaining(['sign', 'append', 'tampering']));
  // What it compares with is installed when it is first wanted.
  for (const name of names.filter((one) => one !== 'append')) {
    expect(bench(name, '--help')).toMatch(new RegExp(`^npm run bench -- ${name} \\[options\\]`));
  }
});
