/** Baselines are written as their users write them: in TypeScript, with decorators. */
import { transform } from '@swc/core';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiler, root } from '../../scripts/build.mjs';

/** @returns the path of the program. */
export async function compileBaseline(name) {
  const source = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const directory = join(root, 'node_modules', '.cache', 'bench');
  const { code } = await transform(await readFile(source, 'utf8'), {
    ...compiler,
    module: { type: 'es6' },
    filename: source,
    configFile: false,
    swcrc: false,
  });
  const program = join(directory, `${name}.mjs`);
  await mkdir(directory, { recursive: true });
  await writeFile(program, code);
  return program;
}
