/** Compiles TypeScript that is not part of dist/: the baselines, and helpers of the tests. */
import { transform } from '@swc/core';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { compiler, root } from '../scripts/build.mjs';

/** @param file in this checkout; it may only import packages. @returns the path of the program */
export async function compile(file) {
  const source = join(root, file);
  const directory = join(root, 'node_modules', '.cache', 'bench');
  const { code } = await transform(await readFile(source, 'utf8'), {
    ...compiler,
    module: { type: 'es6' },
    filename: source,
    configFile: false,
    swcrc: false,
  });
  const program = join(directory, `${basename(file, '.ts')}.mjs`);
  await mkdir(directory, { recursive: true });
  await writeFile(program, code);
  return program;
}
