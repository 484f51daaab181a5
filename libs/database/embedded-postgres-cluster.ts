import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
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

/** The role that owns the database, and the database: both have this name. */
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

/** Opens the cluster in `directory`, creating it first when there is none. */
export async function openCluster(directory: string, programs: Programs, log: (message: string) => void) {
  const home = join(directory, 'postgres');
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
  // Of another process, which was faster, and as root may have found another user.
  const owner = isNew && isRoot ? await stat(data) : account;
  const run = await findWayToRun(owner, programs, home);
  const passwords = await readFile(passwordsFile(home), 'utf8').catch(belongsToAnother);
  return { data, passwords: JSON.parse(passwords) as Cluster['passwords'], programs, run } satisfies Cluster;
}

/** Whether a directory holds nothing but what we put there: /tmp, or a home, must not be closed to its users. */
async function isOurs(directory: string): Promise<boolean> {
  const { mode } = await stat(directory);
  const names = await readdir(directory);
  return (mode & STICKY) === 0 && names.every((name) => OUR_NAMES.test(name));
}

const STICKY = 0o1000;
const OUR_NAMES = /^(postgres(\.draft-.*)?|encryption-key(\..*)?|lost\+found)$/;

/**
 * Lets nobody in but us and, as root, the user that PostgreSQL runs as: by their group, which may pass and read
 * nothing. Were the directory theirs, PostgreSQL could put something else in the place of what root reads there.
 * Also for directories of before, which were open to everybody; not for those of other users.
 */
async function closeToOthers(directory: string, account: Account | undefined): Promise<void> {
  const { uid, gid, mode } = await stat(directory);
  if (uid !== process.getuid?.()) return;
  if (account && gid !== account.gid) await chown(directory, uid, account.gid);
  const wanted = account ? 0o710 : 0o700;
  if ((mode & 0o777) !== wanted) await chmod(directory, wanted);
}

/**
 * Makes the cluster under a name of its own and renames it when it is complete. So a creation killed half
 * way leaves nothing that looks like a cluster, and of two at once the first to finish wins without a lock:
 * rename(2) does not replace a directory that holds something.
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
      // PostgreSQL's own C.UTF-8 sorts by code point, as fast and as stable across systems as plain C (an
      // upgrade of the C library can never spoil an index), but knows upper and lower case beyond ASCII.
      ...['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin'],
      ...['--builtin-locale', 'C.UTF-8', '--data-checksums'],
    ]);
    await writeFile(join(data, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n', { flush: true });

    // Single-user mode needs no port and no password. It reads one statement a line.
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

/** A draft's name holds the id of the process that makes it. */
async function removeAbandonedDrafts(home: string): Promise<void> {
  const prefix = `${basename(home)}.draft-`;
  for (const name of await readdir(dirname(home))) {
    if (!name.startsWith(prefix)) continue;
    const maker = Number(name.slice(prefix.length).split('-')[0]);
    if (isAlive(maker)) continue;
    // The maker's initdb may outlive it by a moment and write on: what stays, the next start removes.
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
