/**
 * npm run new -- kind gathering: creates the module of a kind of groups of contacts, with its tests, from
 * scripts/templates/kind. Elsewhere, it adds one line to src/kinds.ts. With --in, it writes to another copy of
 * the project.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './build.mjs';

const TEMPLATES = join(root, 'scripts/templates/kind');

const { positionals, values } = parseArgs({ allowPositionals: true, options: { in: { type: 'string' } } });
const [what, kind, ...rest] = positionals;
if (what !== 'kind' || !/^[a-z]+$/.test(kind ?? '') || rest.length > 0) {
  console.error('Usage: npm run new -- kind NAME. NAME is one record of the kind in lower case: gathering.');
  process.exit(1);
}
const target = values.in ?? root;
if (existsSync(join(target, `src/${kind}s`))) {
  console.error(`src/${kind}s exists. Choose another name.`);
  process.exit(1);
}

const capitalized = kind[0].toUpperCase() + kind.slice(1);
const filled = (text) => text.replaceAll('__kind__', kind).replaceAll('__Kind__', capitalized);

const written = readdirSync(TEMPLATES).map((name) => {
  const folder = name.endsWith('.spec.ts.txt') ? 'test' : `src/${kind}s`;
  const path = join(target, folder, filled(name).replace(/\.txt$/, ''));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, filled(readFileSync(join(TEMPLATES, name), 'utf8')));
  return path;
});
// The length of the name decides where lines break.
spawnSync(join(root, 'node_modules/.bin/oxfmt'), written, { cwd: target });
const list = join(target, 'src/kinds.ts');
const line = `export { ${capitalized}sModule } from './${kind}s/index.js';\n`;
writeFileSync(list, readFileSync(list, 'utf8').replace('export {};\n', '') + line);

console.log(`Created src/${kind}s, test/${kind}.e2e.spec.ts and a line in src/kinds.ts. Next:
1. Edit the texts in src/${kind}s.
2. Update the generated files: see docs/tutorials/adding-a-record-kind.md.`);
