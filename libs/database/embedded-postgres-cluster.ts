import { randomBytes } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import {
  access,
  chmod,
  chown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  exists,
  findSystemUser,
  findWayToRun,
  type Account,
  type Programs,
  type Run,
} from './embedded-postgres-programs.js';

/** The name of both the database and the role that owns it. */
export const applicationRole = 'advocacy';

/** The cluster's superuser and maintenance database, as initdb names them. */
export const superuser = 'postgres';

/** A PostgreSQL cluster on disk, running or not. */
export interface Cluster {
  /** PostgreSQL's data directory. */
  data: string;
  /** One random password for each of the two roles. */
  passwords: { superuser: string; application: string };
  programs: Programs;
  /** Runs a program as the owner of the data. */
  run: Run;
}

const homeIn = (directory: string) => join(directory, 'postgres');

/** Whether `directory` contains a database. A first start creates it. */
export function containsDatabase(directory: string): boolean {
  return existsSync(homeIn(directory));
}

export async function openCluster(directory: string, programs: Programs, log: (message: string) => void) {
  const home = homeIn(directory);
  const data = join(home, 'data');
  const belongsToAnother = (cause: unknown) => {
    throw new Error(
      `The embedded PostgreSQL in ${home} cannot be opened, because it belongs to another user of this machine. ` +
        `Start as that user, use another directory, or set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    );
  };
  await access(directory, constants.R_OK | constants.W_OK | constants.X_OK).catch(belongsToAnother);
  await removeAbandonedDrafts(home);
  const isNew = !(await exists(home));
  const isRoot = process.getuid?.() === 0;
  const account = isRoot ? (isNew ? await findSystemUser() : await stat(data)) : undefined;
  if (await isOurs(directory)) await closeToOthers(directory, account);
  if (isNew) {
    log('Creating the built-in PostgreSQL database');
    await createCluster(home, programs, account);
  }
  await closeToOthers(home, account);
  // Another process may have created the cluster first and, as root, may have chosen another user.
  const owner = isNew && isRoot ? await stat(data) : account;
  const run = await findWayToRun(owner, programs, home);
  const passwords = await readFile(passwordsFile(home), 'utf8').catch(belongsToAnother);
  return { data, passwords: JSON.parse(passwords) as Cluster['passwords'], programs, run } satisfies Cluster;
}

/** Whether a directory contains only our files. /tmp or a home directory must stay open to its users. */
async function isOurs(directory: string): Promise<boolean> {
  const { mode } = await stat(directory);
  const names = await readdir(directory);
  return (mode & STICKY) === 0 && names.every((name) => OUR_NAMES.test(name));
}

const STICKY = 0o1000;
const OUR_NAMES = /^(postgres(\.draft-.*)?|encryption-key(\..*)?|lost\+found)$/;

/**
 * Restricts a directory to its owner. If we are root, the group of PostgreSQL's user may pass through but not read. If
 * that user owned the directory, PostgreSQL could replace the files that root reads there. Also closes directories of
 * earlier versions, which were open to everyone, but not those of other users.
 */
async function closeToOthers(directory: string, account: Account | undefined): Promise<void> {
  const { uid, gid, mode } = await stat(directory);
  if (uid !== process.getuid?.()) return;
  if (account && gid !== account.gid) await chown(directory, uid, account.gid);
  const wanted = account ? 0o710 : 0o700;
  if ((mode & 0o777) !== wanted) await chmod(directory, wanted);
}

/**
 * Creates the cluster under a temporary name and renames it when it is complete. So a creation that is killed leaves
 * nothing that looks like a cluster. If two run concurrently, the first to finish wins without a lock, because
 * rename(2) does not replace a non-empty directory.
 */
async function createCluster(home: string, programs: Programs, account: Account | undefined): Promise<void> {
  const draft = await mkdtemp(`${home}.draft-${process.pid}-`);
  try {
    await closeToOthers(draft, account);
    const data = join(draft, 'data');
    await mkdir(data, { mode: 0o700 });
    if (account) await chown(data, account.uid, account.gid);
    const run = await findWayToRun(account, programs, draft);

    const passwords = { superuser: randomPassword(), application: randomPassword() };
    await writeFile(passwordsFile(draft), JSON.stringify(passwords), { mode: 0o600, flush: true });

    await run(programs.initdb, [
      ...['-D', data, '--username', superuser, '--auth', 'reject'],
      // PostgreSQL's builtin C.UTF-8 sorts by code point. Like plain C, it is fast, and an upgrade of the C
      // library cannot corrupt an index. In addition, it knows upper and lower case beyond ASCII.
      ...['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin'],
      ...['--builtin-locale', 'C.UTF-8', '--data-checksums'],
    ]);
    await writeFile(join(data, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n', { flush: true });

    // Single-user mode needs no port and no password. It reads one statement per line.
    const statements = [
      `ALTER ROLE ${superuser} PASSWORD '${passwords.superuser}'`,
      `CREATE ROLE ${applicationRole} LOGIN PASSWORD '${passwords.application}'`,
      `CREATE DATABASE ${applicationRole} OWNER ${applicationRole}`,
    ];
    const singleUser = ['--single', '-c', 'exit_on_error=on', '-D', data, superuser];
    await run(programs.postgres, singleUser, statements.map((statement) => `${statement}\n`).join(''));

    await rename(draft, home).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    await sync(dirname(home));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** A draft's name contains the id of the process that creates it. */
async function removeAbandonedDrafts(home: string): Promise<void> {
  const prefix = `${basename(home)}.draft-`;
  for (const name of await readdir(dirname(home))) {
    if (!name.startsWith(prefix)) continue;
    const maker = Number(name.slice(prefix.length).split('-')[0]);
    if (isAlive(maker)) continue;
    // The initdb of an ended process may keep writing for a moment. The next start removes the rest.
    await rm(join(dirname(home), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

export function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Makes a rename in this directory survive a power cut. */
async function sync(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function passwordsFile(home: string): string {
  return join(home, 'passwords.json');
}

function randomPassword(): string {
  return randomBytes(24).toString('base64url');
}
