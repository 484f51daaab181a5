/**
 * Compiles src, libs, locales and migrations to dist/, file by file and only what has changed: half a second for all. Types are
 * `tsc`'s matter, which looks at all files together and takes ten times as long: `npm run build` has it check them first, and so
 * does `npm test`.
 *
 * As a program: node scripts/build.mjs [folder], by default this checkout, of which it also makes the bundle (bundle.mjs).
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** For Jest too, so that what is tested is what runs. */
export const compiler = {
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
  },
};

export const FOLDERS = ['src', 'libs', 'locales', 'migrations'];
const FOR_TESTS = /\.(spec|contract)\.ts$|^libs.testing/;

/** Whether a source, named from the root, is compiled to dist/. */
export const isProduct = (name) =>
  FOLDERS.some((folder) => name.startsWith(folder + sep)) && name.endsWith('.ts') && !FOR_TESTS.test(name);

/** What each source in dist/ was when it was compiled. */
const STAMP = '.built-sources';

/** What dist/ was built from, as a text; undefined where it was not built to the end. */
export function stampOf(folder = root) {
  const stamp = readStamp(folder);
  return stamp && JSON.stringify(stamp);
}

/** Whether dist/ is what the sources say. */
export function isBuilt(folder = root) {
  const { changed, removed } = compare(folder);
  return changed.length + removed.length === 0;
}

/**
 * Brings dist/ up to date.
 *
 * @throws what the compiler says of a source that is no TypeScript; dist/ is as before then.
 */
export async function build(folder = root) {
  const { sources, changed, removed, isUnknown } = compare(folder);
  const { transform } = await import('@swc/core');
  const compiled = await Promise.all(
    changed.map(async (source) => {
      const output = outputOf(folder, source);
      const { code, map } = await transform(sources.get(source).text, {
        ...compiler,
        module: { type: 'es6' },
        configFile: false,
        swcrc: false,
        filename: join(folder, source),
        sourceFileName: relative(dirname(output), join(folder, source)),
        sourceMaps: true,
        inlineSourcesContent: false,
      }).catch((error) => {
        // Where and what; then comes where the compiler found it in itself.
        throw new Error(error.message.split('Caused by:')[0].trimEnd());
      });
      return {
        output,
        code: `${withPaths(code, folder, output)}//# sourceMappingURL=${basename(output)}.map\n`,
        map,
      };
    }),
  );
  // Who is interrupted from here on leaves no stamp, and the next one begins anew.
  rmSync(join(folder, 'dist', STAMP), { force: true });
  if (isUnknown)
    for (const name of FOLDERS) rmSync(join(folder, 'dist', name), { recursive: true, force: true });
  for (const source of removed) rmSync(outputOf(folder, source), { force: true });
  for (const { output, code, map } of compiled) {
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, code);
    writeFileSync(`${output}.map`, map);
  }
  const stamp = Object.fromEntries([...sources].map(([source, { digest }]) => [source, digest]));
  writeFileSync(join(folder, 'dist', STAMP), JSON.stringify(stamp));
}

/** Node.js does not know the compiler's `paths`, so dist/ imports these files by their place. */
function withPaths(code, folder, output) {
  return code.replace(/(['"])#(libs\/[\w-]+|migrations|locales)\1/g, (_, quote, name) => {
    const path = relative(dirname(output), join(folder, 'dist', name, 'index.js'));
    return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
  });
}

/** By content, not by time: a checkout, a copy and an image layer all set their own times. */
function compare(folder) {
  const ofCompiler = ['scripts/build.mjs', 'node_modules/@swc/core/package.json'].map((file) =>
    readFileSync(join(root, file)),
  );
  const sources = new Map();
  for (const source of sourcesIn(folder)) {
    const text = readFileSync(join(folder, source), 'utf8');
    const digest = createHash('sha256');
    for (const part of [...ofCompiler, text]) digest.update(part);
    sources.set(source, { text, digest: digest.digest('base64') });
  }
  const built = readStamp(folder);
  return {
    sources,
    isUnknown: built === undefined,
    changed: [...sources.keys()].filter((source) => sources.get(source).digest !== built?.[source]),
    removed: Object.keys(built ?? {}).filter((source) => !sources.has(source)),
  };
}

/** undefined where there is none, or half of one. */
function readStamp(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'dist', STAMP), 'utf8'));
  } catch {
    return undefined;
  }
}

function sourcesIn(folder) {
  return FOLDERS.flatMap((name) =>
    readdirSync(join(folder, name), { recursive: true }).map((file) => join(name, file)),
  ).filter(isProduct);
}

export function outputOf(folder, source) {
  return join(folder, 'dist', source.replace(/\.ts$/, '.js'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder] = process.argv;
  await build(folder);
  // What another checkout consists of, this one's bundle does not know.
  if (folder === undefined) {
    const { bundle } = await import('./bundle.mjs');
    await bundle(root, stampOf());
  }
}
