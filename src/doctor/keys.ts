import { type KeyCheck, Keyring, type KeyringFault } from '#libs/event-store';
import { type Finding, ok, problem, warning } from './finding.js';
import { type DatabaseCheck, type DeploymentWithDatabase } from './deployment.js';

/** Whether personal data can be read with the key that is configured. */
export const encryptionKey: DatabaseCheck = {
  name: 'encryption key',
  async examine(deployment) {
    const { keyring, check, fault } = await openKeyring(deployment);
    if (!check) return [ok('The database has no key yet: the first server that starts notes its own.')];
    if (!keyring) {
      return [
        problem(
          'There is no key to read the database with.',
          'Set ENCRYPTION_KEY to the key of this database; an embedded one has it under DATA_DIR.',
        ),
      ];
    }
    if (fault !== undefined) return [FAULTS[fault]];
    if (keyring.state === 'ahead') {
      return [
        warning(
          'ENCRYPTION_KEY is not in use yet: the database goes by ENCRYPTION_KEY_PREVIOUS.',
          'Once every instance has both, run keys rewrap (docs/guides/keys.md).',
        ),
      ];
    }
    if (check.replaces) {
      return [
        warning(
          'Not all is wrapped with ENCRYPTION_KEY yet.',
          'Run keys rewrap, which goes on where it was interrupted; until then leave ENCRYPTION_KEY_PREVIOUS set.',
        ),
      ];
    }
    if (deployment.config.previousEncryptionKey !== undefined) {
      return [
        warning(
          'ENCRYPTION_KEY_PREVIOUS opens nothing here any more.',
          'Take it out, and keep it for as long as you keep backups of before.',
        ),
      ];
    }
    return [ok('The key is the one of this database.')];
  },
};

const FAULTS: { [fault in KeyringFault]: Finding } = {
  first: problem(
    'ENCRYPTION_KEY is not the key that this database was first used with: no server will start on it.',
    'Set it to that key: without it personal data cannot be read by anybody.',
  ),
  replaced: problem(
    'ENCRYPTION_KEY is not the key of this database, which was replaced by another: no server will start on it.',
    'Set it to the new one: without it personal data cannot be read by anybody.',
  ),
  unfinished: problem(
    'Keys of persons are wrapped with the key before ENCRYPTION_KEY, and ENCRYPTION_KEY_PREVIOUS is not it: no server will start.',
    'Set it to that key, and run keys rewrap to its end.',
  ),
};

/** The keys that are configured, opened for the database as far as they are its. */
export async function openKeyring({
  database,
  config,
  isWrong,
  encryptionKey: key,
}: DeploymentWithDatabase): Promise<{ keyring?: Keyring; check?: KeyCheck; fault?: KeyringFault }> {
  const previous = isWrong('ENCRYPTION_KEY_PREVIOUS') ? undefined : config.previousEncryptionKey;
  const keyring = key && new Keyring(key, previous);
  const { there } = await database.row<{ there: boolean }>(
    `SELECT to_regclass('key_check') IS NOT NULL AS there`,
  );
  // Before the migrations ran it has no more than the first column.
  const [check] = there ? await database.query<KeyCheck[]>('SELECT * FROM key_check') : [];
  const fault = keyring && check && keyring.open(check);
  return { ...(keyring && { keyring }), ...(check && { check }), ...(fault && { fault }) };
}
