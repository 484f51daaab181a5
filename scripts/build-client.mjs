/** Builds `@advocacy/client` as ES modules and as CommonJS, each with its types. `npm pack ./client` runs it. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build.mjs';

const folder = join(root, 'client');
const compile = (...options) =>
  execFileSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder, ...options],
    {
      // npm pack prints the name of the file on stdout.
      stdio: ['ignore', 2, 2],
    },
  );

rmSync(join(folder, 'dist'), { recursive: true, force: true });
compile();
compile('--module', 'commonjs', '--outDir', join(folder, 'dist/cjs'));
writeFileSync(join(folder, 'dist/cjs/package.json'), '{ "type": "commonjs" }\n');
