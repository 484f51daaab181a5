import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Sql } from '#libs/database';
import { type Keyring, type KeyringFault } from '#libs/event-store';
import { type Config, ConfigError } from './config.js';

/** The key that encrypts what describes persons: the embedded PostgreSQL's own unless one is configured. */
export async function masterKeyOf({
  encryptionKey,
  dataDirectory,
}: Pick<Config, 'encryptionKey' | 'dataDirectory'>): Promise<Buffer> {
  return encryptionKey ?? embeddedKey(dataDirectory);
}

const KEYRING_FAULTS: { [fault in KeyringFault]: string } = {
  first:
    'ENCRYPTION_KEY is not the key that this database was first used with: personal data could not be read. ' +
    'Set it to that key; an embedded database has its own under DATA_DIR and needs none. If it is to be another from now ' +
    'on, set ENCRYPTION_KEY_PREVIOUS to that key.',
  replaced:
    'ENCRYPTION_KEY is not the key of this database: that was replaced by another (keys rewrap). Set it to the new one.',
  unfinished:
    'ENCRYPTION_KEY_PREVIOUS is not the key before: personal data of some persons could not be read, whose keys are wrapped ' +
    'with that. Set it, and run keys rewrap to its end.',
};

/** @throws ConfigError unless all personal data in the database can be read. */
export async function openKeyring(sql: Sql, keyring: Keyring): Promise<void> {
  const fault = await keyring.openFor(sql);
  if (fault !== undefined) throw new ConfigError([KEYRING_FAULTS[fault]]);
}

/** The embedded mode's own master key: made once, also when several processes start at the same time. */
async function embeddedKey(directory: string): Promise<Buffer> {
  const file = join(directory, 'encryption-key');
  if (!(await exists(file))) {
    // Linked into place whole: a crash in the middle of the write leaves no half key behind.
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true });
    await link(draft, file).catch(async (error: unknown) => {
      if (!(await exists(file))) throw error;
    });
    await rm(draft);
  }
  await chmod(file, 0o600);
  return Buffer.from((await readFile(file, 'utf8')).trim(), 'base64');
}

async function exists(file: string): Promise<boolean> {
  return access(file, constants.F_OK).then(
    () => true,
    () => false,
  );
}
