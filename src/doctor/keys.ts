import { isNotEnded, type KeyCheck, Keyring, type KeyringFault } from '#libs/event-store';
import { type Finding, problem } from './finding.js';
import { type DatabaseCheck, type DeploymentWithDatabase } from './deployment.js';

/** Whether the configured key can read personal data. */
export const encryptionKey: DatabaseCheck = {
  name: 'encryption key',
  async examine(deployment, found) {
    const { keyring, check, fault } = await openKeyring(deployment);
    if (!check) return 'The database has no key yet. The first server that starts registers its key.';
    if (!keyring)
      return found.problem(
        'No key is configured to read the database.',
        'Set ENCRYPTION_KEY to the key of this database. In the embedded mode, it is a file in DATA_DIR.',
      );
    if (fault !== undefined) return found.add(FAULTS[fault]);
    const { revived } = await deployment.database.row<{ revived: string | null }>(REVIVED);
    if (revived !== null)
      return found.problem(
        `The encryption key of ${revived} is in the table subject_keys, although an event destroyed it.`,
        'Delete this row, and find out who restored it. The server no longer decrypts anything with it, but others can.',
      );
    if (keyring.state === 'ahead')
      return found.warning(
        'ENCRYPTION_KEY is not in use yet. The database still uses ENCRYPTION_KEY_PREVIOUS.',
        'Once every instance has both, run keys rewrap (docs/guides/keys.md).',
      );
    if (check.replaces)
      return found.warning(
        'Some keys are not wrapped with ENCRYPTION_KEY yet.',
        'Run keys rewrap, which resumes where it was interrupted. Keep ENCRYPTION_KEY_PREVIOUS until it is done.',
      );
    if (deployment.config.previousEncryptionKey !== undefined)
      return found.warning(
        'ENCRYPTION_KEY_PREVIOUS is no longer needed.',
        'Remove the variable. Store the key as long as you keep backups from before.',
      );
    return 'ENCRYPTION_KEY is the key of this database.';
  },
};

const FAULTS: { [fault in KeyringFault]: Finding } = {
  first: problem(
    'ENCRYPTION_KEY is not the key that this database was first used with. No server will start.',
    'Set it to that key. Without it, no one can read personal data.',
  ),
  replaced: problem(
    'ENCRYPTION_KEY is not the key that this database uses now: the key was replaced. No server will start.',
    'Set it to the new key. Without it, no one can read personal data.',
  ),
  unfinished: problem(
    'Some keys are wrapped with the key before ENCRYPTION_KEY, but ENCRYPTION_KEY_PREVIOUS is not that key. No server will start.',
    'Set ENCRYPTION_KEY_PREVIOUS to that key, and run keys rewrap to the end.',
  ),
};

const REVIVED = `
  SELECT (SELECT k.subject_id FROM subject_keys k WHERE NOT (${isNotEnded('k')}) LIMIT 1) AS revived`;

/** Opens the database's key check with the configured keys. */
export async function openKeyring({
  database,
  config,
  isWrong,
  encryptionKey: key,
}: DeploymentWithDatabase): Promise<{ keyring?: Keyring; check?: KeyCheck; fault?: KeyringFault }> {
  const previous = isWrong('ENCRYPTION_KEY_PREVIOUS') ? undefined : config.previousEncryptionKey;
  const keyring = key && new Keyring(key, previous);
  const there = await database.has('key_check');
  // Before the migrations run, the table only has its first column.
  const [check] = there ? await database.query<KeyCheck[]>('SELECT * FROM key_check') : [];
  const fault = keyring && check && keyring.open(check);
  return { ...(keyring && { keyring }), ...(check && { check }), ...(fault && { fault }) };
}
