import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Sql } from '#libs/database';
import { type Keyring, type KeyringFault } from '#libs/event-store';
import { type Config, ConfigError } from '../config/index.js';

/** The key that encrypts personal data: the configured one or, in embedded mode, the key in DATA_DIR. */
export async function masterKeyOf({
  encryptionKey,
  dataDirectory,
}: Pick<Config, 'encryptionKey' | 'dataDirectory'>): Promise<Buffer> {
  return encryptionKey ?? embeddedKey(dataDirectory);
}

const KEYRING_FAULTS: { [fault in KeyringFault]: string } = {
  first:
    'ENCRYPTION_KEY is not the key that this database was first used with, so personal data cannot be read. ' +
    'Set it to that key. An embedded database has its own key in DATA_DIR and needs none. To replace the key, also set ' +
    'ENCRYPTION_KEY_PREVIOUS to the old one.',
  replaced:
    'ENCRYPTION_KEY is not the key that this database uses now: the key was replaced (keys rewrap). Set it to the new key.',
  unfinished:
    'ENCRYPTION_KEY_PREVIOUS is not the previous key, but the keys of some people are still wrapped with that one. ' +
    'Set ENCRYPTION_KEY_PREVIOUS to it, and run keys rewrap to the end.',
};

/** @throws ConfigError unless all personal data in the database can be read. */
export async function openKeyring(sql: Sql, keyring: Keyring): Promise<void> {
  const fault = await keyring.openFor(sql);
  if (fault !== undefined) throw new ConfigError([KEYRING_FAULTS[fault]]);
}

/** The embedded mode's own master key. Created only once, even if several processes start at the same time. */
async function embeddedKey(directory: string): Promise<Buffer> {
  const file = join(directory, 'encryption-key');
  if (!(await exists(file))) {
    // Linked into place only when complete, so that a crash leaves no partial key.
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
