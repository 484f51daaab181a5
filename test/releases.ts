import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Environment, Program, type Result, ServerProcess } from './processes.js';

/** A published commit, with whose databases and instances this code must be compatible. */
export type Release = { version: string; commit: string };

const run = promisify(execFile);
const root = resolve(__dirname, '..');
const CACHE = join(root, 'node_modules/.cache/releases');
/** Part of the cache's names, so that builds made differently are not reused. */
const BUILD_VERSION = 'swc-1';

/** The published versions, the oldest first. */
export const published = JSON.parse(
  readFileSync(join(__dirname, 'releases.json'), 'utf8'),
) as readonly Release[];

/** The previous version, whose instances serve next to those of this one during an upgrade. */
export const before = published.at(-1)!;

/** A release that can be run, compiled from its sources in git. */
export class ReleaseBuild {
  private constructor(
    readonly release: Release,
    private readonly directory: string,
  ) {}

  /**
   * Builds the release, or finds an existing build.
   *
   * @returns the reason if that is impossible, because the checkout lacks the history
   */
  static async of(release: Release): Promise<ReleaseBuild | string> {
    const { version, commit } = release;
    const directory = join(CACHE, `${commit.slice(0, 12)}-${BUILD_VERSION}`);
    if (!(await exists(directory))) {
      const isHere = await run('git', ['cat-file', '-e', commit], { cwd: root }).then(
        () => true,
        () => false,
      );
      if (!isHere) return `${version} (${commit.slice(0, 7)}) is not in the history of this checkout.`;
      await build(commit, directory);
    }
    return new ReleaseBuild(release, directory);
  }

  /** Runs the command line of the release. */
  run(args: readonly string[], environment: Environment): Promise<Result> {
    return new Program(process.execPath, [this.program('cli.js'), ...args], environment).ended;
  }

  /** Starts a server of the release and waits until it listens. */
  async start(environment: Environment): Promise<ServerProcess> {
    return new ServerProcess(environment, undefined, undefined, this.program('main.js')).listening();
  }

  private program(name: string): string {
    return join(this.directory, 'dist/src', name);
  }
}

type Lock = { packages: Record<string, { version?: string; dev?: boolean; devOptional?: boolean }> };

/** Whether all packages of a release are installed here in the same versions. */
function hasPackagesOf(lock: string): boolean {
  const theirs = (JSON.parse(lock) as Lock).packages;
  const ours = (JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock).packages;
  return Object.entries(theirs).every(
    ([path, { dev, devOptional, version }]) =>
      path === '' || dev === true || devOptional === true || ours[path]?.version === version,
  );
}

async function build(commit: string, directory: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const draft = await mkdtemp(join(CACHE, 'draft-'));
  try {
    const sources = join(draft, 'sources');
    await mkdir(sources);
    const archive = join(draft, 'sources.tar');
    await run('git', ['archive', '-o', archive, commit], { cwd: root });
    await run('tar', ['-xf', archive, '-C', sources]);
    await run(process.execPath, [join(root, 'scripts/build.mjs'), sources]);
    await rename(join(sources, 'dist'), join(draft, 'dist'));
    for (const name of ['package.json', 'package-lock.json']) {
      await rename(join(sources, name), join(draft, name));
    }
    if (hasPackagesOf(await readFile(join(draft, 'package-lock.json'), 'utf8'))) {
      await symlink(join(root, 'node_modules'), join(draft, 'node_modules'));
    } else {
      await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: draft });
    }
    await rm(sources, { recursive: true });
    await rm(archive);
    await rename(draft, directory);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another test built it first.
    if (!(await exists(directory))) throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
