import { type Command } from 'commander';
import { Progress } from './progress.js';
import { type Session, UsageError, withSession } from './session.js';

export function keysCommands(program: Command): void {
  const keys = program.command('keys').description('replace the encryption key');
  keys
    .command('rewrap')
    .description('rewrap the key of every person with ENCRYPTION_KEY, which replaces ENCRYPTION_KEY_PREVIOUS')
    .addHelpText(
      'after',
      '\nServers keep running. All must have both keys. To resume after an interruption, run the same command. Prints ' +
        '{ "rewrapped", "unreadable" }: the number of rewrapped keys, and of keys that neither encryption key opens, because ' +
        'someone changed them. Exits with status 1 if any key is unreadable. docs/guides/keys.md lists all steps.',
    )
    .action(() => withSession(program, rewrap));
}

async function rewrap({ runtime }: Session): Promise<{ rewrapped: number; unreadable: number }> {
  const { source, store, projections } = runtime;
  const { keyring } = store;
  if (keyring.state === 'first') {
    throw new UsageError(
      'ENCRYPTION_KEY is already the key in use. To replace it, set ENCRYPTION_KEY to the new key and ' +
        'ENCRYPTION_KEY_PREVIOUS to this one, here and on every server.',
    );
  }
  const { Rewrapping } = await import('#libs/event-store');
  const rewrapping = new Rewrapping(source, keyring);
  const fault = await rewrapping.takeOver(async (transaction) => {
    const without = await projections.instancesWithout(keyring.ids[0]!, transaction);
    if (without === 0) return;
    throw new UsageError(
      `Nothing was changed. ${without} ${without === 1 ? 'server or command runs' : 'servers or commands run'} without the ` +
        'new ENCRYPTION_KEY, or with a version that cannot replace keys, or crashed within the last minute. They could not ' +
        'read rewrapped keys. Start all servers with both keys, then run this command again.',
    );
  });
  if (fault !== undefined) {
    throw new UsageError(
      fault === 'unfinished'
        ? 'Some keys are still wrapped with the key before ENCRYPTION_KEY_PREVIOUS. First finish the `keys rewrap` that was interrupted.'
        : 'Another `keys rewrap` replaced the key while this one was starting.',
    );
  }
  const answer = { rewrapped: 0, unreadable: 0 };
  const total = await rewrapping.count();
  const progress = new Progress('keys', () => ({ count: answer.rewrapped, done: answer.rewrapped, total }));
  try {
    for await (const page of rewrapping.pages()) {
      answer.rewrapped += page.rewrapped;
      answer.unreadable += page.unreadable;
    }
  } finally {
    progress.stop();
  }
  await rewrapping.finish();
  if (answer.unreadable > 0) {
    process.exitCode = 1;
    process.stderr.write(
      'Some keys open with neither encryption key and were left unchanged. Someone altered them, so the personal data of these ' +
        'people cannot be read. Run history verify to find out whose keys they are, and restore them from a backup.\n',
    );
  }
  return answer;
}
