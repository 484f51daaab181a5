import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { longIt, someOf } from './length.js';

const root = process.cwd();

async function bench(...args: string[]): Promise<string> {
  const env = { ...process.env, DATABASE_URL: process.env.TEST_DATABASE_URL };
  const program = join(root, 'scripts', 'bench.mjs');
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args], { env });
  expect(stderr).toBe('');
  return stdout;
}

/** Runs parts of the benchmarks for a second each, to check that they still match the product and count everything. */
const BRIEFLY = ['--rounds', '1', '--seconds', '1', '--warm-up', '0', '--connections', '4'];
const MEASURED = {
  scale: [...BRIEFLY, '--instances', '1'],
  sign: [...BRIEFLY, '--contacts', '1000', '--only', 'known,TypeORM'],
  webhooks: ['--events', '200', '--instances', '1', '--rounds', '1', '--rate', '100', '--seconds', '1'],
  dashboard: ['--contacts', '2000', '--rounds', '1', '--requests', '4'],
  site: ['--rounds', '1', '--seconds', '1', '--readers', '8', '--signers', '4'],
  growth: [...BRIEFLY, '--small', '200', '--large', '400', '--only', 'get-contact'],
};

it('every benchmark lists its options', async () => {
  const list = await bench('--help');
  const names = [...list.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name!);
  expect(names).toEqual(expect.arrayContaining([...Object.keys(MEASURED), 'append', 'tampering']));
  // Not started here, because it installs its baselines first. The others are started below.
  const others = names.filter((one) => one !== 'append' && !(one in MEASURED));
  for (const name of someOf(others)) {
    expect(await bench(name, '--help')).toMatch(new RegExp(`^npm run bench -- ${name} \\[options\\]`));
  }
});

for (const [name, options] of Object.entries(MEASURED)) {
  longIt(`${name} reports its measurements and loses nothing`, async () => {
    expect(await bench(name, ...options)).toMatch(/acknowledged|returned 200|arrived at least once/);
  });
}
