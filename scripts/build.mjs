/**
 * Compiles changed files of src, libs, locales and migrations to dist/, which takes half a second for all files. Types are not
 * checked, because `tsc` needs all files together and takes ten times as long. `npm run build` and `npm test` run it first.
 *
 * As a program: node scripts/build.mjs [folder]. Without a folder, it builds this checkout, and then the bundle (bundle.mjs).
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Also used for Jest, so that tests run the same code. */
export const compiler = {
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
  },
};

export const FOLDERS = ['src', 'libs', 'locales', 'migrations'];
const FOR_TESTS = /\.(spec|contract)\.ts$|^libs.testing/;

/** Whether a source, with a path from the root, is compiled to dist/. */
export const isProduct = (name) =>
  FOLDERS.some((folder) => name.startsWith(folder + sep)) && name.endsWith('.ts') && !FOR_TESTS.test(name);

/** The file with the digest of each compiled source. */
const STAMP = '.built-sources';

/** Identifies the sources of dist/, or undefined if the build was not completed. */
export function stampOf(folder = root) {
  const stamp = readStamp(folder);
  return stamp && JSON.stringify(stamp);
}

/** Whether dist/ matches the sources. */
export function isBuilt(folder = root) {
  const { changed, removed } = compare(folder);
  return changed.length + removed.length === 0;
}

/**
 * Brings dist/ up to date.
 *
 * @throws the compiler's syntax error. dist/ is then unchanged.
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
        // Without comments and indentation.
        minify: source.includes(`${sep}browser${sep}`),
        sourceMaps: true,
        inlineSourcesContent: false,
      }).catch((error) => {
        // Position and message, without the compiler's own stack.
        throw new Error(error.message.split('Caused by:')[0].trimEnd());
      });
      return {
        output,
        code: `${withPaths(code, folder, output).trimEnd()}\n//# sourceMappingURL=${basename(output)}.map\n`,
        map,
      };
    }),
  );
  // If the build is interrupted from here on, no stamp exists, and the next build starts over.
  rmSync(join(folder, 'dist', STAMP), { force: true });
  if (isUnknown)
    for (const name of FOLDERS) rmSync(join(folder, 'dist', name), { recursive: true, force: true });
  for (const source of removed) rmSync(outputOf(folder, source), { force: true });
  for (const { output, code, map } of compiled) {
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, code);
    writeFileSync(`${output}.map`, map);
  }
  if (existsSync(join(folder, 'libs', 'verify', 'main.ts'))) await buildVerifier(folder);
  if (existsSync(join(folder, EDITOR))) await buildEditor(folder);
  const stamp = Object.fromEntries([...sources].map(([source, { digest }]) => [source, digest]));
  writeFileSync(join(folder, 'dist', STAMP), JSON.stringify(stamp));
}

/** Puts libs/verify into one file, which runs in Node.js and in browsers. It stays readable, because auditors download it. */
async function buildVerifier(folder) {
  const { build: bundle } = await import('esbuild');
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  await bundle({
    // Its comments name files, so the same source gives the same bytes wherever it is built.
    absWorkingDir: folder,
    entryPoints: [join(folder, 'dist/libs/verify/main.js')],
    outfile: join(folder, 'dist/advocacy-verify.mjs'),
    bundle: true,
    format: 'esm',
    target: 'es2023',
    banner: {
      js: `#!/usr/bin/env node\n// advocacy-verify ${version}. Specification: docs/spec/history-format.md`,
    },
    logLevel: 'error',
  });
}

const EDITOR = join('src', 'dashboard', 'browser', 'editor.ts');

/** Puts the packages of the editor into its file, because browsers cannot find them. */
async function buildEditor(folder) {
  const { build: bundle } = await import('esbuild');
  await bundle({
    absWorkingDir: folder,
    entryPoints: [EDITOR],
    outfile: outputOf(folder, EDITOR),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    // 30 KB of tables for what the browser does itself.
    alias: { entities: `./${join('src', 'dashboard', 'browser', 'entities.ts')}` },
    logLevel: 'error',
  });
}

/** Node.js does not know the compiler's `paths`, so dist/ imports these files by relative path. */
function withPaths(code, folder, output) {
  return code.replace(/(['"])#(libs\/[\w-]+|migrations|locales)\1/g, (_, quote, name) => {
    const path = relative(dirname(output), join(folder, 'dist', name, 'index.js'));
    return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
  });
}

/** Compares contents, not times, because checkouts, copies and image layers set their own times. */
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

/** The stamp, or undefined if it is missing or incomplete. */
function readStamp(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'dist', STAMP), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Earlier versions, which the tests build with this script, have fewer folders. */
function sourcesIn(folder) {
  return FOLDERS.filter((name) => existsSync(join(folder, name)))
    .flatMap((name) => readdirSync(join(folder, name), { recursive: true }).map((file) => join(name, file)))
    .filter(isProduct);
}

export function outputOf(folder, source) {
  return join(folder, 'dist', source.replace(/\.ts$/, '.js'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder] = process.argv;
  await build(folder);
  // The bundle is only for this checkout.
  if (folder === undefined) {
    const { bundle } = await import('./bundle.mjs');
    await bundle(root, stampOf());
  }
}
