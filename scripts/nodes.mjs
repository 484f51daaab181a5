import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build.mjs';

/**
 * @param wanted a version of Node.js (`24`, `24.4.1`), which is installed from npm into the caches, or the path of a program
 * @returns the path of the program
 */
export function nodeOf(wanted) {
  if (!/^\d+(\.\d+)*$/.test(wanted)) return wanted;
  const program = installedNode(wanted);
  if (existsSync(program)) return program;
  console.error(`Installing Node.js ${wanted} (${PACKAGE})`);
  const options = ['--prefix', directoryOf(wanted), '--no-save', '--no-fund', '--no-audit', '--silent'];
  execFileSync('npm', ['install', ...options, `${PACKAGE}@${wanted}`], { stdio: 'inherit' });
  return program;
}

/** The path of a version's program after it is installed. */
export function installedNode(version) {
  return join(directoryOf(version), 'node_modules', PACKAGE, 'bin', 'node');
}

const PACKAGE = `node-${process.platform}-${process.arch}`;

function directoryOf(version) {
  return join(root, 'node_modules', '.cache', `node-${version}`);
}
