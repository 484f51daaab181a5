/**
 * Compiles test code for Jest. Product code and packages are not compiled: tests import the modules that Node.js loads from
 * `dist/` or `node_modules`, once per worker (environment.mjs).
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTransformer } from '@swc/jest';
import { compiler, isProduct, outputOf, root } from '../build.mjs';

const swc = createTransformer({ ...compiler, module: { type: 'commonjs' } });
const ownSource = readFileSync(fileURLToPath(import.meta.url));

export default {
  getCacheKey(source, file, options) {
    if (nativeFileOf(file) === undefined) return swc.getCacheKey(source, file, options);
    return createHash('sha256').update(ownSource).update(file).digest('hex');
  },

  process(source, file, options) {
    const native = nativeFileOf(file);
    if (native === undefined) return swc.process(source, file, options);
    return { code: `module.exports = globalThis.requireNatively(${JSON.stringify(native)});` };
  },
};

function nativeFileOf(file) {
  const name = relative(root, file);
  if (name.startsWith('node_modules')) return file;
  return isProduct(name) ? outputOf(root, name) : undefined;
}
